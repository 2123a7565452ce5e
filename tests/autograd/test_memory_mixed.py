"""A thousand rounds of everything that could leak: graphs of graphs, hooks, checkpoints, custom functions and exceptions."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

import adjoint as ad
from adjoint.utils.checkpoint import CheckpointError, checkpoint


class Cube(ad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x**3
        ctx.save_for_backward(x, out)
        ctx.size = x.shape
        return out

    @staticmethod
    def backward(ctx, g):
        x, _ = ctx.saved_tensors
        return 3 * x * x * g


class Failing(ad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        raise ValueError("as it should")


class Keeping(ad.autograd.Function):
    """Its context holds its own output: a cycle, which the collector has to find."""

    @staticmethod
    def forward(ctx, x):
        ctx.out = x * 2
        return ctx.out

    @staticmethod
    def backward(ctx, g):
        return g * 2


def second_derivative(x):
    (first,) = ad.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    ad.autograd.grad(first.sum(), x)


def hooks(x):
    y = Cube.apply(x)
    y.register_hook(lambda g: g * 2)
    y.grad_fn.register_hook(lambda inputs, outputs: None)
    y.grad_fn.register_prehook(lambda outputs: None)
    y.retain_grad()
    y.sum().backward()
    x.grad = None


def checkpoints(x):
    for use_reentrant in (False, True):
        checkpoint(lambda x: Cube.apply(x.sin()).exp(), x, use_reentrant=use_reentrant).sum().backward()
    inner = checkpoint(lambda x: checkpoint(ad.exp, x.sin(), use_reentrant=False).tanh(), x, use_reentrant=False)
    (first,) = ad.autograd.grad(inner.sum(), x, create_graph=True)
    ad.autograd.grad(first.sum(), x)
    x.grad = None


def checkpoint_without_backward(x):
    checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False)


def exceptions(x):
    with pytest.raises(ValueError, match="as it should"):
        Failing.apply(x * 2).sum().backward()
    steps = iter([lambda x: x.sin().exp(), lambda x: x.sin()])
    with pytest.raises(CheckpointError):
        checkpoint(lambda x: next(steps)(x * 1), x, use_reentrant=False).sum().backward()


def cycles(x):
    Keeping.apply(x).sum().backward()
    x.grad = None


def resident_kilobytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4


@pytest.mark.parametrize("step", [second_derivative, hooks, checkpoints, checkpoint_without_backward, exceptions, cycles])
def test_nothing_grows(step):
    """The least growth of several blocks of rounds: a leak is in all of them, a kernel that is compiled in between is not."""
    x = ad.full((500,), 0.5, requires_grad=True)
    growth = []
    for _ in range(5):
        gc.collect()
        before = len(gc.get_objects()), resident_kilobytes()
        for _ in range(200):
            step(x)
        gc.collect()
        growth.append((len(gc.get_objects()) - before[0], resident_kilobytes() - before[1]))
    assert min(objects for objects, _ in growth) < 20
    assert min(memory for _, memory in growth) < 300  # 200 arrays of 500 numbers are 400
    assert x._hooks is None


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_what_a_checkpoint_holds_dies_with_its_graph(use_reentrant):
    class Held:
        def __call__(self, x):
            return x.sin().exp()

    x = ad.ones(3, requires_grad=True)
    held = Held()
    alive = weakref.ref(held)
    out = checkpoint(held, x, use_reentrant=use_reentrant)
    del held
    assert alive() is not None
    out.sum().backward()
    del out
    gc.collect()
    assert alive() is None


def test_recomputed_tensors_are_freed_as_backward_goes():
    """After a backward that keeps the graph nothing of the second run is left: each tensor was handed out once."""
    recomputed = []

    def function(x):
        y = x.sin()
        recomputed.append(weakref.ref(y._data))
        return y.exp().cos()

    x = ad.ones(3, requires_grad=True)
    out = checkpoint(function, x, use_reentrant=False)
    out.sum().backward(retain_graph=True)
    gc.collect()
    assert [r() for r in recomputed] == [None, None]
    out.sum().backward()
    assert x.grad is not None
