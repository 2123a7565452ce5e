"""Branches and loops as functions, and older homes of names that libraries import."""

from __future__ import annotations

import pytest

import adjoint as ad
from adjoint._higher_order_ops import associative_scan, cond, map, scan, while_loop
from adjoint._vmap_internals import _vmap
from adjoint.nn import _reduction


def test_a_branch_is_taken_and_differentiated():
    x = ad.tensor([1.0, -2.0], requires_grad=True)
    ad.cond(x.sum() > 0, ad.exp, lambda x: x * 3, (x,)).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert cond(True, ad.neg, ad.exp, (x.detach(),)).tolist() == [-1.0, 2.0]
    with pytest.raises(RuntimeError, match="Expected pred to be bool or single-element tensor"):
        ad.cond(x > 0, ad.exp, ad.neg, (x,))


def test_each_example_of_a_batch_takes_its_own_branch():
    x = ad.tensor([[1.0, 2.0], [-3.0, 1.0]])
    assert ad.vmap(lambda row: ad.cond(row.sum() > 0, lambda r: {"y": r + 1}, lambda r: {"y": -r}, (row,)))(x)["y"].tolist() == [
        [2.0, 3.0], [3.0, -1.0],
    ]  # fmt: skip


def test_a_loop_runs_as_long_as_its_condition_holds():
    x = ad.tensor(2.0, requires_grad=True)
    count, y = while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, x))
    (slope,) = ad.autograd.grad(y, x)
    assert (count, y.item(), slope.item()) == (3, 16.0, 32.0)
    with pytest.raises(RuntimeError, match="same number of outputs"):
        while_loop(lambda i, y: True, lambda i, y: i, (0, x))


def test_scan_carries_a_state_through_rows():
    x = ad.arange(6.0).reshape(2, 3)
    carry, ys = scan(lambda c, row: (c + row["x"], {"before": c}), ad.zeros(2), {"x": x}, dim=1)
    assert carry.tolist() == [3.0, 12.0] and ys["before"].tolist() == [[0.0, 0.0], [0.0, 3.0], [1.0, 7.0]]
    carry, ys = scan(lambda c, row: (row, c - row), ad.zeros(3), x, reverse=True)
    assert carry.tolist() == [0.0, 1.0, 2.0] and ys.tolist() == [[3.0, 3.0, 3.0], [-3.0, -4.0, -5.0]]
    assert scan(lambda c, row: (c, c), ad.zeros(1), [])[1] == []
    with pytest.raises(RuntimeError, match="scan dimension > 0"):
        scan(lambda c, row: (c, c), ad.zeros(1), x[:0])
    with pytest.raises(RuntimeError, match="requires init leaves"):
        scan(lambda c, row: (c, c), [], x)
    with pytest.raises(RuntimeError, match="same length"):
        scan(lambda c, row: (c, c), ad.zeros(1), [x, x[:1]])


@pytest.mark.parametrize("reverse", [False, True])
def test_partial_results_of_an_associative_function(reverse):
    x = ad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    expected = x.flip(1).cumsum(1).flip(1) if reverse else x.cumsum(1)
    assert (associative_scan(ad.add, x, 1, reverse, "generic") == expected).all()
    with pytest.raises(ValueError, match="but got both"):
        associative_scan(ad.add, x, 1, combine_mode="both")


def test_map_stacks_what_the_function_says_of_each_row():
    x = ad.arange(4.0).reshape(2, 2)
    assert map(lambda row, k: (row.sum(), row * k), x, 10)[1].tolist() == [[0.0, 10.0], [20.0, 30.0]]


def test_the_older_vmap_lets_none_through_where_that_is_allowed():
    x = ad.ones(3)
    assert _vmap(lambda v: (v * 2, None), allow_none_pass_through=True)(x)[1] is None
    assert _vmap(lambda v: v * 2)(x).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(ValueError, match="must only return Tensors"):
        _vmap(lambda v: (v, None))(x)


def test_reductions_have_numbers():
    assert [_reduction.get_enum(name) for name in ("none", "mean", "sum")] == [0, 1, 2]
    assert _reduction.legacy_get_string(False, None, emit_warning=False) == "sum"
    with pytest.warns(UserWarning, match="please use reduction='none' instead"):
        assert _reduction.legacy_get_enum(True, False) == 0
    with pytest.raises(ValueError, match="is not a valid value for reduction"):
        _reduction.get_enum("max")
