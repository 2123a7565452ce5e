"""`backward` and `autograd.grad`, with each of their arguments."""

from __future__ import annotations

import warnings

import pytest

import adjoint as ad

# ----- backward -----


def test_accumulates_over_calls():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    for times in (1, 2, 3):
        (x * 3).sum().backward()
        assert x.grad.tolist() == [3.0 * times] * 2


def test_accumulates_over_paths():
    x = ad.tensor(2.0, requires_grad=True)
    y = x * x
    (y + y * x + x).backward()  # 2x + 3x² + 1
    assert x.grad.item() == 4 + 12 + 1


def test_diamond_of_many_levels_is_linear_in_time():
    x = y = ad.tensor(1.0, dtype=ad.float64, requires_grad=True)
    for _ in range(60):
        y = y + y
    y.backward()
    assert x.grad.item() == 2.0**60


def test_accumulation_keeps_the_object():
    x = ad.ones(2, requires_grad=True)
    x.sum().backward()
    kept = x.grad
    x.sum().backward()
    assert x.grad is kept
    assert kept.tolist() == [2.0, 2.0]


def test_accumulation_into_a_given_gradient():
    x = ad.ones(2, requires_grad=True)
    x.grad = ad.tensor([10.0, 20.0])
    x.sum().backward()
    assert x.grad.tolist() == [11.0, 21.0]


def test_gradients_do_not_share_memory():
    x, y = ad.ones(2, requires_grad=True), ad.ones(2, requires_grad=True)
    seed = ad.ones(2)
    (x + y).backward(seed)
    x.grad.add_(1)
    assert y.grad.tolist() == [1.0, 1.0]
    assert seed.tolist() == [1.0, 1.0]


def test_gradient_of_an_expanded_sum_is_a_writable_array():
    x = ad.ones(3, requires_grad=True)
    x.sum().backward()
    assert x.grad is not None
    x.grad[0] = 7
    assert x.grad.tolist() == [7.0, 1.0, 1.0]


@pytest.mark.parametrize("make", [lambda x: x.t(), lambda x: x[::2].t(), lambda x: x], ids=["transposed", "with gaps", "contiguous"])
def test_gradient_layout_follows_a_dense_leaf(make):
    x = make(ad.ones(4, 3)).requires_grad_()
    (x * 2).sum().backward()
    assert x.grad.shape == x.shape
    if x.is_contiguous() or x.t().is_contiguous():
        assert x.grad.stride() == x.stride()
    else:
        assert x.grad.is_contiguous()


def test_leaf_itself():
    x = ad.tensor(3.0, requires_grad=True)
    x.backward()
    x.backward()
    assert x.grad.item() == 2.0


def test_one_element_of_any_shape_is_a_scalar():
    x = ad.ones(1, 1, requires_grad=True)
    (x * 5).backward()
    assert x.grad.tolist() == [[5.0]]


def test_several_roots():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    ad.autograd.backward([x.sum(), (x * x).sum()])
    assert x.grad.tolist() == [3.0, 5.0]


def test_several_roots_with_gradients():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    ad.autograd.backward([y, y.sum()], [ad.tensor([1.0, 10.0]), None])
    assert x.grad.tolist() == [2 + 2, 40 + 4]


def test_root_that_another_root_uses():
    x = ad.tensor(2.0, requires_grad=True)
    y = x * 3
    z = y * y
    ad.autograd.backward([y, z])
    assert x.grad.item() == 3 + 36


def test_root_given_twice():
    x = ad.tensor(2.0, requires_grad=True)
    y = x * x
    ad.autograd.backward([y, y])
    assert x.grad.item() == 8.0


def test_grad_tensors_by_keyword_and_as_one_tensor():
    x = ad.ones(2, requires_grad=True)
    ad.autograd.backward(x * 2, grad_tensors=ad.tensor([1.0, 3.0]))
    assert x.grad.tolist() == [2.0, 6.0]


def test_gradient_argument():
    x = ad.ones(3, requires_grad=True)
    (x * 2).backward(gradient=ad.tensor([1.0, 0.0, -1.0]))
    assert x.grad.tolist() == [2.0, 0.0, -2.0]


def test_gradient_argument_of_a_scalar():
    x = ad.tensor(1.0, requires_grad=True)
    (x * 2).backward(ad.tensor(10.0))
    assert x.grad.item() == 20.0


def test_gradient_argument_of_another_dtype_is_converted():
    x = ad.ones(2, requires_grad=True)
    (x * 2).backward(ad.tensor([1.0, 2.0], dtype=ad.float64))
    assert x.grad.dtype == ad.float32
    assert x.grad.tolist() == [2.0, 4.0]


def test_inputs_limits_where_gradients_go():
    x, y = ad.tensor(2.0, requires_grad=True), ad.tensor(3.0, requires_grad=True)
    (x * y).backward(inputs=[x])
    assert x.grad.item() == 3.0
    assert y.grad is None


def test_inputs_may_be_one_tensor_and_accumulates():
    x = ad.tensor(2.0, requires_grad=True)
    for _ in range(2):
        (x * x).backward(inputs=x)
    assert x.grad.item() == 8.0


def test_inputs_may_be_a_result():
    x = ad.tensor(2.0, requires_grad=True)
    y = x * 3
    (y * y).backward(inputs=[y])
    assert y.grad.item() == 12.0
    assert x.grad is None


def test_inputs_unused_stays_without_gradient():
    x, y = ad.tensor(2.0, requires_grad=True), ad.tensor(3.0, requires_grad=True)
    (x * 2).backward(inputs=[y])
    assert x.grad is None
    assert y.grad is None


def test_inputs_leaves_other_branches_alone():
    x, y = ad.tensor(2.0, requires_grad=True), ad.tensor(3.0, requires_grad=True)
    ran = []
    left, right = x * x, y * y
    right.register_hook(lambda g: ran.append("right"))
    left.register_hook(lambda g: ran.append("left"))
    (left + right).backward(inputs=[x])
    assert ran == ["left"]


def test_retain_graph():
    x = ad.tensor(2.0, requires_grad=True)
    y = x**3
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 36.0
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


@pytest.mark.parametrize(
    "make",
    [lambda x: x + x, lambda x: -x, lambda x: x[1:].t(), lambda x: x.sum(), lambda x: x.clone(), lambda x: x.view(-1)],
    ids=["add", "neg", "view", "sum", "clone", "reshape"],
)
def test_graphs_that_save_nothing_run_again(make):
    x = ad.ones(2, 2, requires_grad=True)
    y = make(x).sum()
    y.backward()
    first = x.grad.clone()
    y.backward()
    assert ad.equal(x.grad, 2 * first)


@pytest.mark.parametrize(
    "make",
    [lambda x: x * x, lambda x: x * 2, lambda x: x.exp(), lambda x: x**2, lambda x: x @ x],
    ids=["mul", "scale", "exp", "pow", "matmul"],
)
def test_graphs_that_save_values_do_not(make):
    x = ad.ones(2, 2, requires_grad=True)
    y = make(x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_only_what_ran_is_freed():
    x = ad.tensor(2.0, requires_grad=True)
    y = x.exp()
    left, right = y.sin(), x.cos()
    left.backward()
    right.backward()  # shares the leaf only
    with pytest.raises(RuntimeError, match="second time"):
        (y * 2).backward()  # shares exp, which was freed


def test_create_graph_makes_gradients_differentiable():
    x = ad.tensor(2.0, requires_grad=True)
    with warnings.catch_warnings(action="ignore"):  # PyTorch warns of a leak that adjoint does not have
        (x**3).backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    x.grad = None
    first.backward()
    assert x.grad.item() == 12.0


def test_no_gradient_for_what_does_not_require_it():
    x, c = ad.ones(2, requires_grad=True), ad.ones(2)
    (x * c).sum().backward()
    assert c.grad is None


def test_unreached_leaf_keeps_none():
    x, y = ad.ones(2, requires_grad=True), ad.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    assert y.grad is None


def test_backward_under_no_grad():
    x = ad.ones(2, requires_grad=True)
    y = (x * 2).sum()
    with ad.no_grad():
        y.backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert not x.grad.requires_grad


def test_backward_inside_a_hook():
    x, y = ad.tensor(2.0, requires_grad=True), ad.tensor(3.0, requires_grad=True)

    def hook(gradient):
        with ad.enable_grad():
            (y * y).backward()

    x.register_hook(hook)
    (x * 5).backward()
    assert x.grad.item() == 5.0
    assert y.grad.item() == 6.0


def test_order_is_deterministic_latest_first():
    x = ad.tensor(1.0, requires_grad=True)
    order = []
    parts = []
    for name in "abc":
        part = x * 2
        part.register_hook(lambda g, name=name: order.append(name))
        parts.append(part)
    (parts[2] + parts[0] + parts[1]).backward()
    assert order == ["c", "b", "a"]


def test_mixed_dtypes_give_each_leaf_its_own():
    x = ad.ones(2, dtype=ad.float32, requires_grad=True)
    y = ad.ones(2, dtype=ad.float64, requires_grad=True)
    (x * y).sum().backward()
    assert x.grad.dtype == ad.float32
    assert y.grad.dtype == ad.float64


def test_broadcast_gradients_are_summed():
    x = ad.ones(3, 1, requires_grad=True)
    y = ad.ones(4, requires_grad=True)
    s = ad.tensor(2.0, requires_grad=True)
    (x * y * s).sum().backward()
    assert x.grad.tolist() == [[8.0]] * 3
    assert y.grad.tolist() == [6.0] * 4
    assert s.grad.item() == 12.0


def test_complex_gradient_is_the_conjugate():
    z = ad.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    (z * z.conj()).real.sum().backward()  # |z|² has gradient 2z in this convention
    assert z.grad.tolist() == [2 + 4j, 6 - 2j]


# ----- grad -----


def test_grad_returns_a_tuple_and_touches_nothing():
    x, y = ad.tensor(2.0, requires_grad=True), ad.tensor(3.0, requires_grad=True)
    result = ad.autograd.grad(x * y, (x, y))
    assert isinstance(result, tuple)
    assert [g.item() for g in result] == [3.0, 2.0]
    assert x.grad is None
    assert y.grad is None


def test_grad_of_several_outputs_is_the_sum():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    (g,) = ad.autograd.grad([x.sum(), (x * x).sum()], [x])
    assert g.tolist() == [3.0, 5.0]


def test_grad_with_respect_to_a_result():
    x = ad.tensor(2.0, requires_grad=True)
    y = x * x
    z = y * y
    dy, dx = ad.autograd.grad(z, [y, x])
    assert (dy.item(), dx.item()) == (8.0, 32.0)


def test_grad_of_a_tensor_with_respect_to_itself():
    x = ad.tensor(2.0, requires_grad=True)
    y = x * x
    assert ad.autograd.grad(y, y)[0].item() == 1.0
    assert ad.autograd.grad(x, x)[0].item() == 1.0


def test_grad_with_respect_to_the_same_input_twice():
    x = ad.tensor(2.0, requires_grad=True)
    a, b = ad.autograd.grad(x * x, [x, x])
    assert a.item() == b.item() == 4.0


def test_grad_with_respect_to_one_of_several_outputs():
    x = ad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    a, b, _ = y.unbind()
    (g,) = ad.autograd.grad(a * b, [b])
    assert g.item() == 2.0


def test_grad_outputs():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    (g,) = ad.autograd.grad(x * x, x, grad_outputs=ad.tensor([1.0, 10.0]))
    assert g.tolist() == [2.0, 40.0]
    (g,) = ad.autograd.grad([x * x, x.sum()], x, grad_outputs=[ad.tensor([1.0, 10.0]), None])
    assert g.tolist() == [3.0, 41.0]


def test_grad_outputs_can_be_differentiated():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    v = ad.zeros(2, requires_grad=True)
    (g,) = ad.autograd.grad(x * x, x, grad_outputs=v, create_graph=True)
    (jvp,) = ad.autograd.grad(g, v, grad_outputs=ad.tensor([1.0, 1.0]))  # forward mode by two reverse passes
    assert jvp.tolist() == [2.0, 4.0]


def test_allow_unused():
    x, y = ad.ones(2, requires_grad=True), ad.ones(2, requires_grad=True)
    out = (x * 2).sum()
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        ad.autograd.grad(out, [x, y], retain_graph=True)
    gx, gy = ad.autograd.grad(out, [x, y], allow_unused=True)
    assert gx.tolist() == [2.0, 2.0]
    assert gy is None


def test_materialize_grads():
    x, y = ad.ones(2, requires_grad=True), ad.ones(3, requires_grad=True)
    gx, gy = ad.autograd.grad((x * 2).sum(), [x, y], materialize_grads=True)
    assert gx.tolist() == [2.0, 2.0]
    assert gy.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed when materialize_grads=True"):
        ad.autograd.grad((x * 2).sum(), [x, y], materialize_grads=True, allow_unused=False)


def test_grad_frees_the_graph_unless_told():
    x = ad.tensor(2.0, requires_grad=True)
    y = x**2
    ad.autograd.grad(y, x, retain_graph=True)
    ad.autograd.grad(y, x)
    with pytest.raises(RuntimeError, match="second time"):
        ad.autograd.grad(y, x)


def test_create_graph_retains_by_default():
    x = ad.tensor(2.0, requires_grad=True)
    y = x**3
    (first,) = ad.autograd.grad(y, x, create_graph=True)
    (again,) = ad.autograd.grad(y, x)
    assert first.requires_grad
    assert not again.requires_grad


def test_create_graph_with_retain_graph_false_frees():
    x = ad.tensor(2.0, requires_grad=True)
    y = x**3
    ad.autograd.grad(y, x, create_graph=True, retain_graph=False)
    with pytest.raises(RuntimeError, match="second time"):
        ad.autograd.grad(y, x)


def test_derivatives_of_any_order():
    x = ad.tensor(1.5, dtype=ad.float64, requires_grad=True)
    y = x**6
    for order, factor in enumerate((6, 30, 120, 360, 720, 720), start=1):
        (y,) = ad.autograd.grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(factor * 1.5 ** (6 - order))


def test_grad_runs_only_what_leads_to_the_inputs():
    x, y = ad.tensor(2.0, requires_grad=True), ad.tensor(3.0, requires_grad=True)
    ran = []
    left, right = x * x, y * y
    right.register_hook(lambda g: ran.append("right"))
    ad.autograd.grad(left * right, x, retain_graph=True)
    assert ran == []
    ad.autograd.grad(left * right, y)
    assert ran == ["right"]


def test_is_grads_batched():
    x = ad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x
    (jacobian,) = ad.autograd.grad(y, x, grad_outputs=ad.eye(3), is_grads_batched=True)
    assert jacobian.tolist() == [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]


def test_gradient_edge_stands_for_a_tensor():
    x = ad.tensor(2.0, requires_grad=True)
    y = x * x
    z = y * 3
    edge = ad.autograd.graph.get_gradient_edge(y)
    assert edge.node is y.grad_fn
    assert edge.output_nr == 0
    (g,) = ad.autograd.grad(z, edge)
    assert g.item() == 3.0
    assert ad.autograd.graph.get_gradient_edge(x).node.name() == "torch::autograd::AccumulateGrad"


def test_grad_under_no_grad():
    x = ad.tensor(2.0, requires_grad=True)
    y = x * x
    with ad.no_grad():
        (g,) = ad.autograd.grad(y, x)
    assert g.item() == 4.0
    assert not g.requires_grad


def test_exception_in_backward_leaves_the_modes_as_they_were():
    x = ad.tensor(2.0, requires_grad=True)
    y = x * x

    def fail(gradient):
        raise KeyError("hook")

    y.register_hook(fail)
    with pytest.raises(KeyError, match="hook"):
        (y * 2).backward()
    assert ad.is_grad_enabled()
    (x * 3).backward()
    assert x.grad.item() == 3.0


def test_batched_gradients_of_what_is_not_used_are_one_zero():
    x, y = ad.tensor(1.0, requires_grad=True), ad.ones(2, requires_grad=True)
    dx, dy = ad.autograd.grad(x * 2, [x, y], ad.ones(3), is_grads_batched=True, materialize_grads=True)
    assert dx.tolist() == [2, 2, 2] and dy.tolist() == [0, 0]
