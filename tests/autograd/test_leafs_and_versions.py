"""Leaves and results, the names and edges of nodes, version counters, views and their bases."""

from __future__ import annotations

import copy

import pytest

import adjoint as ad


def leaf(*shape):
    return ad.ones(*shape, requires_grad=True)


# ----- Leaves -----


@pytest.mark.parametrize(
    ("make", "is_leaf", "requires_grad"),
    [
        (lambda x: ad.ones(2), True, False),
        (lambda x: ad.ones(2) * 2, True, False),
        (lambda x: x, True, True),
        (lambda x: x * 2, False, True),
        (lambda x: x[0], False, True),
        (lambda x: x.detach(), True, False),
        (lambda x: x.data, True, False),
        (lambda x: x.clone(), False, True),
        (lambda x: (x * 2).detach().requires_grad_(), True, True),
        (lambda x: x > 0, True, False),
        (lambda x: x.to(ad.int64), True, False),
        (lambda x: x.to(ad.float64), False, True),
        (ad.zeros_like, True, False),
        (lambda x: ad.zeros_like(x, requires_grad=True), True, True),
        (lambda x: x.new_ones(2), True, False),
        (lambda x: ad.tensor(x.tolist()), True, False),
    ],
)
def test_is_leaf(make, is_leaf, requires_grad):
    made = make(leaf(2))
    assert made.is_leaf is is_leaf
    assert made.requires_grad is requires_grad
    assert (made.grad_fn is None) is is_leaf


def test_requires_grad_is_an_attribute_and_a_method():
    x = ad.ones(2)
    assert x.requires_grad_() is x
    assert x.requires_grad
    x.requires_grad = False
    assert not x.requires_grad
    x.requires_grad = True
    assert x.requires_grad_(False) is x
    assert not x.requires_grad


def test_requires_grad_true_on_a_result_changes_nothing():
    x = leaf(2)
    y = x * 2
    node = y.grad_fn
    assert y.requires_grad_() is y
    assert y.grad_fn is node
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad = True  # the attribute is stricter than the method


def test_leaf_that_stopped_requiring_grad_gets_none():
    x, w = leaf(2), leaf(2)
    y = (x * w).sum()
    x.requires_grad = False
    y.backward()
    assert x.grad is None
    assert w.grad.tolist() == [1.0, 1.0]


def test_detach_():
    x = leaf(2)
    y = x * 2
    assert y.detach_() is y
    assert y.is_leaf
    assert not y.requires_grad
    y.mul_(3)
    assert y.tolist() == [6.0, 6.0]


def test_detach_of_a_leaf_in_place():
    x = leaf(2)
    x.detach_()
    assert not x.requires_grad


# ----- Nodes -----


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda x: x + 1, "AddBackward0"),
        (lambda x: 1 + x, "AddBackward0"),
        (lambda x: x - 1, "SubBackward0"),
        (lambda x: 1 - x, "RsubBackward1"),
        (lambda x: x * x, "MulBackward0"),
        (lambda x: x / 2, "DivBackward0"),
        (lambda x: x**2, "PowBackward0"),
        (lambda x: x**x, "PowBackward1"),
        (lambda x: 2**x, "PowBackward2"),
        (lambda x: -x, "NegBackward0"),
        (lambda x: x.exp(), "ExpBackward0"),
        (lambda x: x.relu(), "ReluBackward0"),
        (lambda x: x.tanh(), "TanhBackward0"),
        (lambda x: x.sigmoid(), "SigmoidBackward0"),
        (lambda x: x.abs(), "AbsBackward0"),
        (lambda x: x.sum(), "SumBackward0"),
        (lambda x: x.sum(0), "SumBackward1"),
        (lambda x: x.mean(), "MeanBackward0"),
        (lambda x: x.mean(0), "MeanBackward1"),
        (lambda x: x.max(), "MaxBackward1"),
        (lambda x: x.max(0).values, "MaxBackward0"),
        (lambda x: x @ x, "MmBackward0"),
        (lambda x: x @ x[0], "MvBackward0"),
        (lambda x: x[0] @ x[0], "DotBackward0"),
        (lambda x: x.t(), "TBackward0"),
        (lambda x: x.transpose(0, 1), "TransposeBackward0"),
        (lambda x: x.permute(1, 0), "PermuteBackward0"),
        (lambda x: x.view(4), "ViewBackward0"),
        (lambda x: x.reshape(4), "ViewBackward0"),
        (lambda x: x.t().reshape(4), "UnsafeViewBackward0"),
        (lambda x: x.unsqueeze(0), "UnsqueezeBackward0"),
        (lambda x: x.expand(3, 2, 2), "ExpandBackward0"),
        (lambda x: x[0], "SelectBackward0"),
        (lambda x: x[0:1], "SliceBackward0"),
        (lambda x: x[ad.tensor([0, 1])], "IndexBackward0"),
        (lambda x: x.unbind()[0], "UnbindBackward0"),
        (lambda x: x.split(1)[0], "SplitBackward0"),
        (lambda x: ad.cat([x, x]), "CatBackward0"),
        (lambda x: ad.stack([x, x]), "StackBackward0"),
        (lambda x: ad.where(x > 0, x, 0.0), "WhereBackward0"),
        (lambda x: x.clamp(0, 1), "ClampBackward1"),
        (lambda x: x.clone(), "CloneBackward0"),
        (lambda x: x.to(ad.float64), "ToCopyBackward0"),
        (lambda x: x.log_softmax(0), "LogSoftmaxBackward0"),
    ],
)
def test_node_names(make, name):
    node = make(leaf(2, 2)).grad_fn
    assert node.name() == name
    assert type(node).__name__ == name
    assert f"<{name} object at 0x" in repr(node)


def test_written_results_have_the_node_of_the_write():
    y = leaf(2) * 2
    y.add_(1)
    assert y.grad_fn.name() == "AddBackward0"
    y[0].mul_(2)
    assert type(y.grad_fn).__name__ == "CopySlices"
    assert "grad_fn=<CopySlices>" in repr(y)
    y.zero_()
    assert y.grad_fn.name() == "ZeroBackward0"


def test_next_functions():
    x, y = leaf(2), leaf(2)
    z = (x * 2) * y
    (left, left_nr), (right, right_nr) = z.grad_fn.next_functions
    assert left.name() == "MulBackward0"
    assert type(right).__name__ == "AccumulateGrad"
    assert right.variable is y
    assert right.next_functions == ()
    assert (left_nr, right_nr) == (0, 0)
    (inner, _), (nothing, zero) = left.next_functions
    assert inner.variable is x
    assert (nothing, zero) == (None, 0)


def test_next_functions_of_constants_are_none():
    x = leaf(2)
    assert (x * ad.ones(2)).grad_fn.next_functions[1] == (None, 0)
    assert (ad.ones(2) * x).grad_fn.next_functions[0] == (None, 0)


def test_next_functions_name_the_output():
    x = leaf(3)
    _, b, _ = (x * 1).unbind()
    assert b.output_nr == 1
    assert (b * 2).grad_fn.next_functions[0][1] == 1


def test_accumulate_grad_is_the_same_node_for_all_uses():
    x = leaf(2)
    y = x * x
    assert y.grad_fn.next_functions[0][0] is y.grad_fn.next_functions[1][0]


def test_a_graph_can_be_walked():
    x, w = leaf(2, 2), leaf(2, 2)
    loss = (x @ w).relu().sum()
    names, stack = [], [loss.grad_fn]
    while stack:
        node = stack.pop()
        names.append(type(node).__name__)
        stack += [following for following, _ in node.next_functions if following is not None]
    assert names == ["SumBackward0", "ReluBackward0", "MmBackward0", "AccumulateGrad", "AccumulateGrad"]


def test_saved_values_can_be_read_from_nodes():
    x = leaf(2)
    y = x.exp()
    assert ad.equal(y.grad_fn._saved_result, y)
    assert (x**3).grad_fn._saved_exponent == 3
    assert (x**3).grad_fn._saved_self is x
    assert (x * y).grad_fn._saved_other.grad_fn is y.grad_fn


# ----- Versions -----


def test_versions_count_writes():
    x = ad.zeros(2)
    assert x._version == 0
    x.add_(1)
    x[0] = 5
    x += 1
    x.zero_()
    assert x._version == 4
    x * 2  # reading does not count
    assert x._version == 4


def test_views_share_the_version():
    x = ad.zeros(4)
    early = x[:2]
    x.add_(1)
    late = x.view(2, 2)[0]
    late.mul_(2)
    assert x._version == early._version == late._version == 2


def test_detach_shares_the_version_and_data_does_not():
    x = leaf(2) * 1
    detached, data = x.detach(), x.data
    detached.add_(1)
    assert x._version == 1
    data.add_(1)
    assert x._version == 1
    assert data._version == 1
    assert x.tolist() == [3.0, 3.0]


def test_clone_has_a_version_of_its_own():
    x = ad.zeros(2)
    x.add_(1)
    y = x.clone()
    assert y._version == 0
    y.add_(1)
    assert x._version == 1


def test_writes_through_data_are_invisible_to_backward():
    x = leaf(2)
    y = x * 1
    z = (y * y).sum()
    y.data.mul_(10)
    z.backward()
    assert x.grad.tolist() == [20.0, 20.0]  # wrong on purpose: that is what .data means


def test_writes_through_detach_are_seen_by_backward():
    x = leaf(2)
    y = x * 1
    z = (y * y).sum()
    y.detach().mul_(10)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_writes_through_from_numpy_memory_are_invisible():
    x = ad.ones(2)
    x.numpy()[0] = 7
    assert x.tolist() == [7.0, 1.0]
    assert x._version == 0


def test_increment_version():
    x = ad.zeros(2)
    ad.autograd.graph.increment_version(x)
    assert x._version == 1


def test_accumulation_counts_as_a_write_to_the_gradient():
    x = leaf(2)
    x.sum().backward()
    before = x.grad._version
    x.sum().backward()
    assert x.grad._version == before + 1


def test_refused_write_changes_neither_value_nor_version():
    x = leaf(2)
    for write in (lambda: x.add_(1), lambda: x.__setitem__(0, 5), lambda: x[0].mul_(3), x.zero_):
        with pytest.raises(RuntimeError):
            write()
    assert x.tolist() == [1.0, 1.0]
    assert x._version == 0
    wide = ad.ones(1).expand(3)
    with pytest.raises(RuntimeError):
        wide.add_(1)
    assert wide._version == 0


# ----- Views and bases -----


def test_base():
    x = leaf(2, 3) * 1
    view = x.t()[0]
    assert view._base is x
    assert view._is_view()
    assert x._base is None
    assert not x._is_view()
    assert view.clone()._base is None


def test_slices_of_slices_are_written_with_history():
    x = leaf(4, 4)
    y = x * 1
    y[1:][:, 1:][0].mul_(10)
    expected = ad.ones(4, 4)
    expected[1, 1:] = 10
    assert ad.equal(y.detach(), expected)
    y.sum().backward()
    assert ad.equal(x.grad, expected)


def test_assignment_cuts_what_it_replaces():
    x, w = leaf(3), leaf(1)
    y = x * 2
    y[1] = w[0] * 5
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 2.0]
    assert w.grad.tolist() == [5.0]


def test_constant_base_gets_a_history_by_a_write():
    x = leaf(2)
    y = ad.zeros(3)
    view = y[1:]
    y[:2] = x * 3
    assert y.requires_grad
    assert view.requires_grad
    assert not view.is_leaf
    (view * 10).sum().backward()
    assert x.grad.tolist() == [0.0, 30.0]


def test_constant_base_gets_a_history_by_a_write_to_a_view():
    x = leaf(2)
    y = ad.zeros(3)
    view = y[:2]
    view.copy_(x * 3)
    assert y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_views_follow_writes_to_their_base():
    x = leaf(2)
    y = x * 1
    view = y[0]
    y.mul_(3)
    view.backward()
    assert x.grad.tolist() == [3.0, 0.0]


def test_other_views_follow_writes_to_a_view():
    x = leaf(3)
    y = x * 1
    a, b = y[:2], y[1:]
    a.mul_(10)
    b.sum().backward()
    assert b.tolist() == [10.0, 1.0]
    assert x.grad.tolist() == [0.0, 10.0, 1.0]


def without_grad(y):
    with ad.no_grad():
        return y[0]


@pytest.mark.parametrize("take", [lambda y: y.unbind()[0], lambda y: y.split(1)[0][0], without_grad], ids=["unbind", "split", "no_grad"])
def test_view_that_may_not_be_used_can_be_looked_at(take):
    y = leaf(2, 2) * 1
    view = take(y)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        view * 2
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        view.grad_fn  # noqa: B018
    assert view.requires_grad
    assert repr(view) == "tensor([2., 2.], grad_fn=<Invalid>)"
    assert view.tolist() == [2.0, 2.0]
    assert view.detach().tolist() == [2.0, 2.0]


def test_swap_of_data():
    x = leaf(2)
    x.data = ad.tensor([5.0, 6.0])
    (x * 2).sum().backward()
    assert x.tolist() == [5.0, 6.0]
    assert x.grad.tolist() == [2.0, 2.0]


# ----- Copies -----


def test_deepcopy_of_a_leaf():
    x = leaf(2)
    x.sum().backward()
    twin = copy.deepcopy(x)
    assert twin is not x
    assert twin.requires_grad
    assert twin.is_leaf
    assert twin.grad.tolist() == [1.0, 1.0]
    with ad.no_grad():
        twin.add_(1)
    assert x.tolist() == [1.0, 1.0]


def test_copy_shares_memory():
    x = ad.ones(2)
    twin = copy.copy(x)
    twin[0] = 5
    assert x.tolist() == [5.0, 1.0]


def test_hash_and_equality_are_about_identity_and_values():
    x = ad.ones(2)
    assert len({x, x.clone(), x}) == 2
    assert (x == x.clone()).tolist() == [True, True]
