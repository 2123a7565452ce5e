"""Products: the operator, the hints in errors, chains."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.contract import best_order, multi_dot


@pytest.mark.parametrize(
    ("a", "b", "fix"),
    [
        ((2, 3), (4, 3), "self @ mat2.T"),
        ((2, 3), (2, 4), "self.T @ mat2"),
        ((2, 3), (4, 2), "mat2 @ self"),
        ((2, 3), (4, 5), "make the columns of self (3) as many as the rows of mat2 (4)"),
    ],
)
def test_shapes_that_do_not_fit_come_with_a_fix(a: tuple[int, int], b: tuple[int, int], fix: str) -> None:
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied") as caught:
        ad.ones(a) @ ad.ones(b)
    assert f"fix: {fix}" in str(caught.value)


def test_dtypes_that_differ_come_with_a_fix() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)got: float != double.*mat2 is torch.float64\n  fix: self.double\(\)"):
        ad.ones(2, 3) @ ad.ones(3, 2, dtype=ad.float64)


def test_a_layer_of_the_wrong_width_says_which_width() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)\(8x3 and 5x7\).*takes 5 features.*fix: Linear\(in_features=3, out_features=7\)"):
        ad.nn.functional.linear(ad.ones(2, 4, 3), ad.ones(7, 5))


def test_the_operator_leaves_what_it_does_not_know_to_the_other_side() -> None:
    class Right:
        def __rmatmul__(self, other: object) -> str:
            return "right"

    assert ad.ones(2, 2) @ Right() == "right"
    with pytest.raises(TypeError, match="unsupported operand type"):
        ad.ones(2, 2) @ 2


def test_arrays_may_stand_on_either_side() -> None:
    x = ad.tensor([[1.0, 2.0]], requires_grad=True)
    ones = np.ones((2, 1), np.float32)
    assert (x @ ones).tolist() == [[3]]
    assert (ones @ x).tolist() == [[1, 2], [1, 2]]
    (x @ ones + (ones @ x).sum()).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[3, 3]]


def test_linear_frees_nothing_it_needs_and_keeps_no_more() -> None:
    x, w, b = (ad.ones(*shape, requires_grad=True) for shape in ((2, 3), (4, 3), (4,)))
    node = ad.nn.functional.linear(x, w, b).grad_fn
    assert [function.variable is leaf for (function, _), leaf in zip(node.next_functions, (b, x, w), strict=True)] == [True] * 3


def test_chains_are_multiplied_in_the_cheapest_order() -> None:
    assert best_order((10, 100, 5, 50)) == {(0, 1): 0, (1, 2): 1, (0, 2): 1}
    a, b, c = (ad.rand(*shape, dtype=ad.float64) for shape in ((3, 4), (4, 5), (5, 2)))
    assert ad.allclose(multi_dot([a, b, c]), a @ b @ c)
    assert multi_dot([a[0], b, c]).shape == (2,)
    assert multi_dot([a[0], b, c[:, 0]]).shape == ()


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(2, 3)], "expected at least 2 tensors but got 1"),
        ([(2, 3), (2, 3)], r"tensors 0 and 1 with shapes \[2, 3\] and \[2, 3\] cannot be multiplied"),
        ([(2, 3), (3, 3, 3), (3, 2)], "tensor 1 must be 2D but got 3D"),
    ],
)
def test_bad_chains(shapes: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        multi_dot([ad.ones(shape) for shape in shapes])


def test_different_dtypes_are_named_as_pytorch_names_them():
    x, y = ad.ones(2, 2), ad.ones(2, 2, dtype=ad.float64)
    layer = ad.nn.Linear(2, 2)
    for shape in ((2,), (2, 2), (3, 2, 2)):
        with pytest.raises(RuntimeError, match=r"^mat1 and mat2 must have the same dtype, but got Double and Float\n"):
            layer(ad.ones(shape, dtype=ad.float64))
    with pytest.raises(RuntimeError, match=r"^expected m1 and m2 to have the same dtype, but got: double != float\n"):
        ad.nn.functional.linear(y, x)
    with pytest.raises(RuntimeError, match=r"^mat1 and mat2 must have the same dtype, but got Float and Double\n"):
        ad.addmm(y, x, y)
    with pytest.raises(RuntimeError, match=r"^addmv input tensors must have the same dtype, but got Double, Float, and Double\n"):
        ad.mv(x, y[0])
