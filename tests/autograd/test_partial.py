"""`autograd.grad` computes the gradients of those inputs only that lead to what is asked for."""

import pytest

import adjoint as ad


@pytest.mark.parametrize("create_graph", [False, True])
def test_what_is_not_asked_for_is_not_computed(create_graph):
    x, w = ad.tensor([1.0, 2.0], requires_grad=True), ad.tensor([3.0, 4.0], requires_grad=True)
    moved = x * 1
    product = moved * w
    moved.add_(1)  # only the gradient of w needs its old value
    (grad,) = ad.autograd.grad(product.sum(), x, create_graph=create_graph, retain_graph=True)
    assert grad.tolist() == [3, 4]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        ad.autograd.grad(product.sum(), w, create_graph=create_graph)
