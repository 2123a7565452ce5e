"""Programs whose gradient is nan, by the pattern that anomaly mode shall recognise: the table behind test_nonfinite.py and its comparison
with PyTorch. Each gets the module, and returns the loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

INF, NAN = float("inf"), float("nan")
Program = Callable[[Any], Any]

NAN_PROGRAMS: dict[str, list[Program]] = {}


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def gives(pattern: str) -> Callable[[Program], Program]:
    def add(program: Program) -> Program:
        NAN_PROGRAMS.setdefault(pattern, []).append(program)
        return program

    return add


def one_line(pattern: str, *programs: Program) -> None:
    for program in programs:
        gives(pattern)(program)


@gives("nan came in")
def hook_returns_nan(torch: Any) -> Any:
    y = leaf(torch, 1.0) * 2
    y.register_hook(lambda g: g * NAN)
    return y.sum()


@gives("masked")
def where_takes_the_other_branch(torch: Any) -> Any:
    x = leaf(torch, 0.0, 1.0)
    return torch.where(x > 0, x.sqrt(), 0.0).sum()


@gives("masked")
def where_hides_a_division(torch: Any) -> Any:
    x = leaf(torch, 0.0, 1.0)
    return (torch.where(x != 0, x / x, 1.0) * 2).sum()


@gives("masked")
def masked_fill_after_log(torch: Any) -> Any:
    x = leaf(torch, 0.0, 1.0)
    return (x.log() * 3).masked_fill(x == 0, 0.0).sum()


@gives("masked")
def indexing_leaves_it_out(torch: Any) -> Any:
    return leaf(torch, 0.0, 1.0).sqrt()[torch.tensor([False, True])].sum()


@gives("masked")
def slicing_leaves_it_out(torch: Any) -> Any:
    return leaf(torch, 0.0, 1.0).sqrt()[1:].sum()


@gives("norm of zero")
def root_of_squares(torch: Any) -> Any:
    x = leaf(torch, 0.0, 0.0)
    return (x * x).sum().sqrt()


@gives("division by zero")
def zero_by_zero(torch: Any) -> Any:
    x = leaf(torch, 0.0)
    return (x / x).sum()


@gives("custom function")
def backward_computes_nan(torch: Any) -> Any:
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * NAN

    return Bad.apply(leaf(torch, 1.0)).sum()


one_line("log of softmax", lambda t: t.softmax(leaf(t, 0.0, 200.0), 0).log().sum())
one_line("log of sigmoid", lambda t: t.sigmoid(leaf(t, -200.0)).log().sum())
one_line(
    "log of a sum of exp",
    lambda t: leaf(t, 1000.0, 1.0).exp().sum(0).log(),
    lambda t: leaf(t, -1000.0, -1000.0).exp().sum(0).log(),
)
one_line(
    "softmax of a row of -inf",
    lambda t: t.softmax(leaf(t, 1.0, 1.0).masked_fill(t.tensor([True, True]), -INF), 0).sum(),
    lambda t: t.log_softmax(leaf(t, 1.0, 1.0) + t.tensor([-INF, -INF]), 0).sum(),
    lambda t: t.logsumexp(leaf(t, 1.0, 1.0) + t.tensor([-INF, -INF]), 0),
)
one_line(
    "norm of zero",
    lambda t: (leaf(t, 0.0, 0.0) ** 2).sum().sqrt(),
    lambda t: leaf(t, 0.0, 0.0).square().sum().sqrt(),
)
one_line("sqrt(0)", lambda t: (leaf(t, 0.0).sqrt() * 0).sum())
one_line("sqrt of a negative number", lambda t: leaf(t, -1.0).sqrt().sum(), lambda t: leaf(t, -1.0).rsqrt().sum())
one_line("rsqrt(0)", lambda t: (leaf(t, 0.0).rsqrt() * 0).sum())
one_line("log(0)", lambda t: (leaf(t, 0.0).log() * 0).sum(), lambda t: (leaf(t, 0.0).log2() * 0).sum())
one_line("log1p(-1)", lambda t: (leaf(t, -1.0).log1p() * 0).sum())
one_line("division by zero", lambda t: (leaf(t, 0.0).reciprocal() * 0).sum())
one_line("pow(0, p < 1)", lambda t: (leaf(t, 0.0) ** 0.5 * 0).sum(), lambda t: (leaf(t, 0.0) ** t.tensor([0.5]) * 0).sum())
one_line("pow of a negative number", lambda t: (leaf(t, -1.0) ** 0.5).sum())
one_line(
    "acos or asin of ±1",
    lambda t: (leaf(t, 1.0).acos() * 0).sum(),
    lambda t: (leaf(t, -1.0).asin() * 0).sum(),
    lambda t: (leaf(t, 1.0).atanh() * 0).sum(),
    lambda t: (leaf(t, 1.0).erfinv() * 0).sum(),
)
one_line("acosh(1)", lambda t: (leaf(t, 1.0).acosh() * 0).sum())
one_line("logit of 0 or 1", lambda t: (t.logit(leaf(t, 1.0)) * 0).sum())
one_line("hypot(0, 0)", lambda t: t.hypot(leaf(t, 0.0), leaf(t, 0.0)).sum())
one_line("std of one element", lambda t: leaf(t, 1.0).std(), lambda t: leaf(t, 1.0).var())
one_line("exp overflow", lambda t: (leaf(t, 100.0).exp() * 0).sum())
one_line("normalisation without variance", lambda t: t.nn.functional.layer_norm(leaf(t, 1.0, 1.0), (2,), eps=0.0).sum())
one_line("nan in the forward pass", lambda t: (leaf(t, 1.0) * NAN * leaf(t, 2.0)).sum())
one_line("inf times 0", lambda t: (leaf(t, 1.0) * INF * 0).sum())
