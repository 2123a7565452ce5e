"""The absolute value as a function of your own.

Write the class `Abs`, a custom autograd function: `Abs.apply(x)` returns |x| for a tensor x of any shape, and has the right gradient.

- forward(ctx, x) computes |x| and saves what backward will need.
- backward(ctx, grad_output) returns the gradient with respect to x.

|x| has a corner at 0, where every slope from -1 to 1 would do. Take 0 there, as adjoint and PyTorch do: it is the choice that
prefers no side, and a weight that is 0 stays.
"""

from __future__ import annotations

from itertools import cycle, islice
from math import prod
from typing import Any

import adjoint as ad

from .._exercise import Mistake
from .._work import Work, close, counted, diagnosed, plain, shown

SKELETON = '''
import adjoint as ad


class Abs(ad.autograd.Function):
    """|x|, whose derivative at 0 is 0."""

    @staticmethod
    def forward(ctx, x):
        raise NotImplementedError

    @staticmethod
    def backward(ctx, grad_output):
        raise NotImplementedError


if __name__ == "__main__":
    x = ad.tensor([-2.0, 0.0, 3.0], requires_grad=True)
    Abs.apply(x).sum().backward()
    print(x.grad)
'''

SOLUTION = '''
import adjoint as ad


class Abs(ad.autograd.Function):
    """|x|, whose derivative at 0 is 0."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return ad.where(x < 0, -x, x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ad.sign(x)


if __name__ == "__main__":
    x = ad.tensor([-2.0, 0.0, 3.0], requires_grad=True)
    Abs.apply(x).sum().backward()
    print(x.grad)
'''

HINTS = (
    "In forward, ctx.save_for_backward(x) keeps x; in backward, (x,) = ctx.saved_tensors gives it back.",
    "The slope of |x| is 1 to the right of 0 and -1 to the left of it: the sign of x. ad.sign(x) is 0 at 0.",
    "backward gets grad_output, the derivative of the final result with respect to |x|. Multiply it by the slope, and return the product.",
)

ERRORS = {
    "not enough values to unpack": "backward finds only what forward has saved: call ctx.save_for_backward(x) there.",
    "Boolean value of Tensor": "`if` chooses once for the whole tensor. Each element needs its own choice: ad.where(x < 0, -x, x).",
    "returned an incorrect number of gradients": "backward returns one gradient for each argument of forward; ctx is not counted.",
}

# What a backward returns for the gradient g that comes in, at x.
MISTAKES = {
    "backward leaves out grad_output. What comes in is multiplied by the slope: that is the chain rule.": [lambda x, g: x.sign()],
    "The gradient is passed on as it came in, as if the slope were 1 everywhere. Left of 0 it is -1.": [lambda x, g: g],
    "The factor is the slope of |x|, which is the sign of x, and not x or |x|.": [lambda x, g: g * x.abs(), lambda x, g: g * x],
    "The slope is 1 where x is positive, and -1 where it is negative: it is the other way round here.": [lambda x, g: -g * x.sign()],
    "Left of 0 the slope is -1. Here it is 0 there: that is the derivative of relu.": [lambda x, g: g * (x > 0)],
}


def examine(work: Work) -> None:
    if not issubclass(work.Abs, ad.autograd.Function):
        raise Mistake("`Abs` must derive from ad.autograd.Function: that is what gives it `apply`.")
    for shape in ((4,), (2, 3), ()):
        away_from_zero(work, numbers(work, shape, (-1, 1)), numbers(work, shape, (1, 1, -1)))
    at_zero(work)


def away_from_zero(work: Work, x: ad.Tensor, g: ad.Tensor) -> None:
    found = gradient(work, x, g)
    if not close(found, plain(g * x.sign())):
        hint = diagnosed(found, MISTAKES, lambda wrong: wrong(x, g)) or "The gradient is grad_output times the sign of x."
        raise Mistake(f"With x = {shown(x)} and grad_output = {shown(g)}, backward gave {shown(found)}. {hint}")


def gradient(work: Work, x: ad.Tensor, g: ad.Tensor) -> Any:
    """What the learner's function makes of a gradient that comes in."""
    x = x.clone().requires_grad_()
    before = x.detach().clone()
    y = work.Abs.apply(x)
    if not isinstance(y, ad.Tensor) or not close(plain(y.detach()), plain(before.abs())):
        wrong = shown(y.detach()) if isinstance(y, ad.Tensor) else repr(y)
        raise Mistake(f"forward should return |x|. For x = {shown(before)} it returned {wrong}.")
    if not ad.equal(x, before):
        raise Mistake("forward changed x itself. Compute the result in a new tensor: someone else may still need x.")
    with counted(work.Abs, "backward") as calls:
        y.backward(g)
    if not calls:
        raise Mistake("The gradient did not come from your backward. `apply` is inherited, and calls both; leave it as it is.")
    if x.grad is None:
        raise Mistake("x got no gradient: backward returned None. Return the gradient with respect to x.")
    return plain(x.grad)


def at_zero(work: Work) -> None:
    found = gradient(work, ad.zeros(1, dtype=ad.float64), ad.full((1,), 2.0, dtype=ad.float64))
    if found != (0.0,):
        why = {
            (2.0,): "A comparison with >= counts 0 among the positive numbers.",
            (-2.0,): "A comparison with > counts 0 among the negative numbers.",
        }.get(found, "x / |x| is 0 / 0 there, which is not a number.")
        raise Mistake(f"Everywhere else it is right, but at 0 the slope should be 0, and yours is {shown(found[0] / 2)}. {why}")


def numbers(work: Work, shape: tuple[int, ...], signs: tuple[int, ...]) -> ad.Tensor:
    """Numbers that are not near 0, with these signs in turn."""
    values = [sign * work.number(0.5, 3.0) for sign in islice(cycle(signs), prod(shape))]
    return ad.tensor(values, dtype=ad.float64).reshape(shape)
