"""Checkpoints whose function changes its mind, early stops, contexts, sequences and policies, as in PyTorch."""

from __future__ import annotations

import contextlib
import importlib

import pytest

import adjoint
from tests.torch_parity.checkpoints import BOTH, counting, leaf, module, ways
from tests.torch_parity.facts import Facts, outcome, raised, warned

torch = pytest.importorskip("torch")
importlib.import_module("torch.utils.checkpoint")
importlib.import_module("adjoint.utils.checkpoint")
fact = Facts()


# ---- the function runs differently the second time ----


def changing(first, later):
    """A function that does something else when it is run again."""
    calls = []

    def function(x):
        calls.append(1)
        return first(x) if len(calls) == 1 else later(x)

    return function


CHANGES = {
    "more": (lambda x: x.sin().exp(), lambda x: x.sin().exp().cos().tan()),
    "fewer": (lambda x: x.sin().exp().cos().tan(), lambda x: x.sin().exp()),
    "other_shape": (lambda x: x.sin().exp(), lambda x: x[:1].sin().exp()),
    "other_dtype": (lambda x: x.sin().exp(), lambda x: x.float().sin().exp()),
    "other_values": (lambda x: x.sin().exp(), lambda x: x.sin().mul(2).exp()),
}
OPTIONS = {
    "": {}, "to_the_end": {"early_stop": False}, "unchecked": {"determinism_check": "none"},
    "to_the_end_unchecked": {"early_stop": False, "determinism_check": "none"},
}  # fmt: skip


def add_change(name, change, option, kwargs):
    def check(T):
        x = leaf(T)
        out = module(T).checkpoint(changing(*change), x, use_reentrant=False, **kwargs)
        return raised(lambda: out.sum().backward())

    check.__name__ = f"runs_with_{name}_{option}"
    fact(check)


for name_, change_ in CHANGES.items():
    for option_, kwargs_ in OPTIONS.items():
        if (name_, option_) not in (("fewer", "unchecked"), ("fewer", "to_the_end_unchecked")):
            add_change(name_, change_, option_, kwargs_)


@fact
def fewer_unchecked(T):
    x = leaf(T)
    out = module(T).checkpoint(changing(*CHANGES["fewer"]), x, use_reentrant=False, determinism_check="none")
    return raised(lambda: out.sum().backward())


@fact
def exception_in_the_first_run(T):
    def function(x):
        x.sin()
        raise KeyError("first")

    return ways(T, function, leaf(T)), T.is_grad_enabled()


@fact
def exception_when_run_again(T):
    def fail(x):
        raise KeyError("again")

    def broken(reentrant):
        x = leaf(T)
        module(T).checkpoint(changing(lambda x: x.sin().exp(), fail), x, use_reentrant=reentrant).sum().backward()

    return [raised(lambda r=r: broken(r)) for r in BOTH], ways(T, lambda x: x.sin().exp(), leaf(T))


@fact
def no_output_requires_grad(T):
    x = leaf(T)
    out = module(T).checkpoint(changing(lambda x: x.sin(), lambda x: x.detach()), x, use_reentrant=True)
    return raised(lambda: out.sum().backward())


# ---- early stop ----


@fact
def early_stop(T):
    marks = []

    def function(x):
        y = x.sin().exp()
        marks.append("middle")
        z = y + 1
        marks.append("end")
        return z

    found = []
    for kwargs in ({}, {"early_stop": False}, {"early_stop": True}):
        marks.clear()
        module(T).checkpoint(function, leaf(T), use_reentrant=False, **kwargs).sum().backward()
        found.append(list(marks))
    return found


@fact
def early_stop_switch(T):
    marks = []

    def function(x):
        y = x.sin().exp()
        marks.append("middle")
        return y + 1

    C = module(T)
    found = []
    for switch, argument in ((True, False), (False, True), (False, False)):
        marks.clear()
        with C.set_checkpoint_early_stop(switch):
            out = C.checkpoint(function, leaf(T), use_reentrant=False, early_stop=argument)
        out.sum().backward()
        found.append(len(marks))
    return found


@fact
def early_stop_switch_is_restored(T):
    C = module(T)
    marks = []

    def function(x):
        y = x.sin()
        marks.append(1)
        return y

    with contextlib.suppress(KeyError), C.set_checkpoint_early_stop(False):
        raise KeyError
    C.checkpoint(function, leaf(T), use_reentrant=False).sum().backward()
    return len(marks)


@fact
def functions_that_catch_everything(T):
    marks = []

    def function(x):
        try:
            y = x.sin().exp()
        except Exception:
            marks.append("caught")
            raise
        return y

    return ways(T, function, leaf(T), ways=(False,)), marks


# ---- contexts ----


@fact
def contexts(T):
    log = []

    @contextlib.contextmanager
    def context(name):
        log.append("enter " + name)
        yield
        log.append("leave " + name)

    def function(x):
        log.append("run")
        return x.sin().exp()

    x = leaf(T)
    out = module(T).checkpoint(
        function, x, use_reentrant=False, context_fn=lambda: (context("first"), context("again")), early_stop=False
    )
    log.append("backward")
    out.sum().backward()
    return log


@fact
def contexts_with_early_stop(T):
    log = []

    @contextlib.contextmanager
    def context(name):
        log.append("enter " + name)
        try:
            yield
        finally:
            log.append("leave " + name)

    x = leaf(T)
    out = module(T).checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False, context_fn=lambda: (context("first"), context("again")))
    out.sum().backward()
    return log


@fact
def wrong_context_fn(T):
    return raised(lambda: module(T).checkpoint(lambda x: x.sin(), leaf(T), use_reentrant=False, context_fn=lambda: 3)) and None


# ---- sequences ----


@fact
def sequential(T):
    found = []
    for reentrant in BOTH:
        for segments in (1, 2, 3, 5):
            x = leaf(T)
            steps = [counting(lambda x, n=n: (x + n).sin()) for n in range(5)]
            out = module(T).checkpoint_sequential(steps, segments, x, use_reentrant=reentrant)
            out.sum().backward()
            found.append((x.grad, [step.calls for step in steps]))
    return found


@fact
def sequential_of_modules(T):
    x = leaf(T)
    out = module(T).checkpoint_sequential(T.nn.Sequential(T.nn.Tanh(), T.nn.ReLU(), T.nn.Sigmoid()), 2, x, use_reentrant=False)
    out.sum().backward()
    return out, x.grad


@fact
def sequential_mistakes(T):
    C, x = module(T), leaf(T)
    return (
        raised(lambda: C.checkpoint_sequential([T.sin], 1, x, use_reentrant=False, wrong=1)),
        warned(lambda: C.checkpoint_sequential([T.sin, T.cos], 2, x)),
        raised(lambda: C.checkpoint_sequential([T.sin, T.cos], 2, x, use_reentrant=False, preserve_rng_state=False)),
    )


# ---- policies ----


@fact
def policies(T):
    return [(policy.name, policy.value) for policy in module(T).CheckpointPolicy]


def selective(T, policy, function, x, **kwargs):
    """How often the policy was asked and for what, and the gradient."""
    C = module(T)
    asked = []

    def ask(ctx, op, *args, **kw):
        asked.append(ctx.is_recompute)
        return policy(C.CheckpointPolicy, op)

    out = C.checkpoint(
        function, x, use_reentrant=False, context_fn=lambda: C.create_selective_checkpoint_contexts(ask), early_stop=False, **kwargs
    )
    out.sum().backward()
    return out.tolist(), x.grad, sorted(set(asked))


@fact
def selective_policies(T):
    aten = T.ops.aten
    return [
        selective(T, policy, lambda x: (x @ x).sin() @ x, leaf(T, *[[1.0, 2.0], [3.0, 4.0]]))
        for policy in (
            lambda P, op: P.MUST_SAVE, lambda P, op: P.PREFER_SAVE, lambda P, op: P.MUST_RECOMPUTE, lambda P, op: P.PREFER_RECOMPUTE,
            lambda P, op: P.MUST_SAVE if op == aten.mm.default else P.PREFER_RECOMPUTE,
            lambda P, op: op == aten.mm.default,
        )
    ]  # fmt: skip


@fact
def selective_by_list(T):
    C, x = module(T), leaf(T, *[[1.0, 2.0], [3.0, 4.0]])
    out = C.checkpoint(
        lambda x: (x @ x).sin() @ x, x, use_reentrant=False,
        context_fn=lambda: C.create_selective_checkpoint_contexts([T.ops.aten.mm.default]),
    )  # fmt: skip
    out.sum().backward()
    return out, x.grad


@fact
def selective_twice(T):
    C, x = module(T), leaf(T)
    out = C.checkpoint(
        lambda x: x.sin().exp(), x, use_reentrant=False,
        context_fn=lambda: C.create_selective_checkpoint_contexts([T.ops.aten.sin.default]),
    )  # fmt: skip
    out.sum().backward(retain_graph=True)
    return raised(lambda: out.sum().backward())


@fact
def selective_mistakes(T):
    C = module(T)
    return raised(lambda: C.create_selective_checkpoint_contexts(3)), raised(lambda: C.create_selective_checkpoint_contexts([3]))


@fact
def selective_with_a_write(T):
    C, x = module(T), leaf(T)

    def function(x):
        y = x.sin()
        y.mul_(2)
        return y.exp()

    def run(**kwargs):
        make = C.create_selective_checkpoint_contexts
        out = C.checkpoint(
            function, x, use_reentrant=False, context_fn=lambda: make([T.ops.aten.sin.default], **kwargs), early_stop=False
        )
        out.sum().backward()

    return raised(run)


@fact
def selective_saves_less_work(T):
    C, x, runs = module(T), leaf(T), []

    class Slow(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            runs.append(1)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    C.checkpoint(
        lambda x: Slow.apply(x.sin()).exp(), x, use_reentrant=False,
        context_fn=lambda: C.create_selective_checkpoint_contexts([T.ops.aten.sin.default]),
    ).sum().backward()  # fmt: skip
    return runs, x.grad


@pytest.mark.parametrize("name", fact)
def test_fact(name):
    assert outcome(fact[name], adjoint) == outcome(fact[name], torch)
