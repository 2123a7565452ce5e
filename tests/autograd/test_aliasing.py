"""Gradients have memory of their own: changing one changes neither another, nor a value, nor what the user keeps."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.autograd import Function
from adjoint.ops._registry import OPS
from tests.ops._check import Call, Derivative
from tests.ops.samples import load_dense

ROWS = load_dense()


def leaf(*values):
    return ad.tensor(values, requires_grad=True)


def array_of(tensor: Any) -> Any:
    return tensor.detach().numpy(force=True)


# ----- Every op -----


@pytest.mark.parametrize("name", sorted(ROWS))
def test_gradients_of_every_op_are_separate(name):
    """Two inputs of one op must not get one array, nor an input what the op saved. (A gradient may repeat one element in memory.)"""
    row = ROWS[name]
    if name in OPS and not OPS[name].differentiable:
        return
    for sample in row.samples():
        call = Call(row, sample)
        if not sample.differences or not call.differentiable():
            continue
        derivative = Derivative(call)
        if not derivative.smooth:
            continue
        tensors = derivative.tensors(derivative.points, requires_grad=True)
        leaves = [tensors[slot] for slot in derivative.slots]
        outputs = [out for place, out in enumerate(call(tensors)) if place in derivative.smooth]
        chosen = [(out, ad.from_numpy(weight)) for out, weight in zip(outputs, derivative.weights, strict=True) if out.requires_grad]
        if not chosen:
            continue
        ad.autograd.backward([out for out, _ in chosen], [weight for _, weight in chosen])
        gradients = [x.grad for x in leaves if x.grad is not None]
        others = [*leaves, *outputs, *(weight for _, weight in chosen)]
        for place, gradient in enumerate(gradients):
            gradient.add_(1)  # it is writable
            for other in [*others, *gradients[:place]]:
                assert not np.shares_memory(array_of(gradient), array_of(other)), f"{name}{sample}"


# ----- What users return and keep -----


class Given(Function):
    """Its backward returns whatever is given to it."""

    @staticmethod
    def forward(ctx, answer, *tensors):
        ctx.answer = answer
        ctx.save_for_backward(*tensors)
        return sum(tensors[1:], tensors[0] * 1)

    @staticmethod
    def backward(ctx, g):
        return None, *ctx.answer(ctx, g)


def test_one_gradient_returned_for_two_inputs():
    x, y = leaf(1.0), leaf(2.0)

    def answer(ctx, g):
        doubled = g * 2
        return doubled, doubled

    Given.apply(answer, x, y).backward()
    x.grad.add_(1)
    assert y.grad.tolist() == [2.0]


def test_saved_tensor_returned_as_gradient():
    x = leaf(3.0)
    Given.apply(lambda ctx, g: ctx.saved_tensors, x).backward()
    x.grad.zero_()
    assert x.tolist() == [3.0]


def test_gradient_that_the_user_keeps():
    x, kept = leaf(3.0), []

    def answer(ctx, g):
        kept.append(g * 2)
        return tuple(kept)

    Given.apply(answer, x).backward()
    kept[0].zero_()
    assert x.grad.tolist() == [2.0]
    x.grad.add_(1)
    assert kept[0].tolist() == [0.0]


def test_gradient_returned_by_a_node_hook():
    x, mine = leaf(1.0), ad.tensor([7.0])
    y = x.exp()
    y.grad_fn.register_hook(lambda inputs, outputs: (mine,))
    y.backward()
    x.grad.add_(1)
    assert mine.tolist() == [7.0]


def test_gradient_returned_by_a_tensor_hook():
    x, mine = leaf(1.0), ad.tensor([7.0])
    x.register_hook(lambda g: mine)
    x.exp().backward()
    x.grad.add_(1)
    assert mine.tolist() == [7.0]


def test_gradient_returned_by_an_accumulation_prehook():
    x, mine = leaf(1.0), ad.tensor([7.0])
    node = x.exp().grad_fn.next_functions[0][0]
    node.register_prehook(lambda outputs: (mine,))
    x.exp().backward()
    x.grad.add_(1)
    assert x.grad.tolist() == [8.0]
    assert mine.tolist() == [7.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_seed_of_a_leaf(create_graph):
    x, seed = leaf(1.0), ad.tensor([5.0])
    with warnings.catch_warnings(action="ignore"):
        x.backward(seed, create_graph=create_graph)
    x.grad.add_(1)
    assert seed.tolist() == [5.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_sum_passes_one_gradient_to_both(create_graph):
    x, y, seed = leaf(1.0), leaf(2.0), ad.tensor([5.0])
    with warnings.catch_warnings(action="ignore"):
        (x + y).backward(seed, create_graph=create_graph)
    x.grad.add_(1)
    assert y.grad.tolist() == [5.0]
    assert seed.tolist() == [5.0]


def test_gradient_that_a_hook_has_seen_does_not_change_later():
    x = leaf(1.0)
    seen: list[Any] = []
    x.register_hook(seen.append)
    (x * 2).backward()
    (x * 3).backward()
    assert seen[0].tolist() == [2.0]
    assert x.grad.tolist() == [5.0]


def test_retained_gradient_is_separate():
    x, w = leaf(1.0), leaf(2.0)
    y = x + 0
    y.retain_grad()
    (y + w).backward(ad.ones(1))
    y.grad.mul_(3)
    assert (x.grad.tolist(), w.grad.tolist()) == ([1.0], [1.0])


def test_assigned_gradient_is_shared_on_purpose():
    x, mine = leaf(1.0), ad.tensor([7.0])
    x.grad = mine
    (x * 2).backward()
    assert x.grad is mine
    assert mine.tolist() == [9.0]
