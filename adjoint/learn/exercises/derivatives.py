"""Second and third derivatives.

Write derivatives(f, x). f is a function from a tensor to a tensor, made of adjoint's operations; x is a number. Return the three numbers
f'(x), f''(x) and f'''(x) as a tuple, found by autograd.

A derivative is itself computed by operations on tensors. If those are recorded too, it can be differentiated like anything else.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, exp, sin

import adjoint as ad

from .._exercise import Mistake
from .._work import NEAR, Mistakes, Work, close, diagnosed, plain, shown

SKELETON = '''
import adjoint as ad


def derivatives(f, x):
    """The first, second and third derivative of f at the number x."""
    raise NotImplementedError


if __name__ == "__main__":
    print(derivatives(lambda x: x**4, 1.0))  # 4, 12 and 24
'''

SOLUTION = '''
import adjoint as ad


def derivatives(f, x):
    """The first, second and third derivative of f at the number x."""
    x = ad.tensor(x, dtype=ad.float64, requires_grad=True)
    y = f(x)
    found = []
    for _ in range(3):
        (y,) = ad.autograd.grad(y, x, create_graph=True)
        found.append(y.item())
    return tuple(found)


if __name__ == "__main__":
    print(derivatives(lambda x: x**4, 1.0))  # 4, 12 and 24
'''

HINTS = (
    "(first,) = ad.autograd.grad(y, x) returns the derivative instead of adding it to x.grad. That keeps the three apart.",
    "For the second derivative, the computation of the first must be recorded: ad.autograd.grad(y, x, create_graph=True).",
    "Then do the same again: grad of `first` with respect to x is the second derivative, and grad of that the third.",
)

TUPLE = "ad.autograd.grad returns a tuple, with one gradient for each input: write (first,) = ad.autograd.grad(...)."
ERRORS = {
    "does not require grad": "The derivative itself was not recorded, so there is nothing to differentiate again: pass create_graph=True.",
    "second time": "The first derivative freed the graph. create_graph=True keeps it, and records the derivative too.",
    "can't multiply sequence": TUPLE,
    "'tuple' object has no attribute": TUPLE,
}

Function = Callable[[ad.Tensor], ad.Tensor]
Three = tuple[float, float, float]

MISTAKES: Mistakes = {
    "All three are the first derivative. Differentiate the derivative, not f again.": [lambda d: (d[0], d[0], d[0])],
    "The third number is the second derivative again. Differentiate what you got last.": [lambda d: (d[0], d[1], d[1])],
    "backward() adds to x.grad, so each number contains those before it. Use ad.autograd.grad, or set x.grad = None in between.":
        [lambda d: (d[0], d[0] + d[1], d[0] + 2 * d[1] + d[2])],
    "backward() on f adds f'(x) to x.grad again and again. Differentiate the derivative, not f.": [lambda d: (d[0], 2 * d[0], 3 * d[0])],
    "f''(x) is the derivative of f', and not the square of f'(x).": [lambda d: (d[0], d[0] ** 2, d[0] ** 3)],
    "The three numbers are right, but in the wrong order: first, second, third.": [lambda d: (d[2], d[1], d[0])],
    "Those are the coefficients of the Taylor series, each divided by a factorial. The task asks for the derivatives.":
        [lambda d: (d[0], d[1] / 2, d[2] / 6)],
}


def examine(work: Work) -> None:
    for case in (quartic(work), wave(work), growth(work)):
        judged(work, *case)


def judged(work: Work, f: Function, text: str, right: Callable[[float], Three]) -> None:
    places: list[ad.Tensor] = []

    def watched(x: ad.Tensor) -> ad.Tensor:
        places.append(x)
        return f(x)

    x = work.number(0.4, 1.2)
    answer, expected = plain(work.derivatives(watched, x)), right(x)
    where = f"For f = {text} at x = {x}"
    if not isinstance(answer, tuple) or len(answer) != 3:
        raise Mistake(f"{where}: return three numbers, the first, second and third derivative. {shown(answer)} came back.")
    if not close(answer, expected, 1e-4):
        hint = diagnosed(answer, MISTAKES, lambda wrong: wrong(expected), 1e-4)
        if not hint and close(answer, expected, 0.01):
            hint = NEAR
        raise Mistake(f"{where}: {shown(answer)} should be {shown(expected)}. {hint}".rstrip())
    if len(places) > 3:
        raise Mistake("The numbers are near enough, but f was computed at several places: those are differences. Let autograd do it.")


# A function, how it is written, and its derivatives, which were found with pencil and paper.
Case = tuple[Function, str, Callable[[float], Three]]


def quartic(work: Work) -> Case:
    a, b = work.random.randint(2, 5), work.random.randint(2, 5)
    return lambda x: a * x**4 + b * x**3, f"{a} * x**4 + {b} * x**3", lambda x: (
        4 * a * x**3 + 3 * b * x**2,
        12 * a * x**2 + 6 * b * x,
        24 * a * x + 6 * b,
    )


def wave(work: Work) -> Case:
    a = work.number(1.5, 3.0)
    return lambda x: ad.sin(a * x), f"sin({a} * x)", lambda x: (a * cos(a * x), -(a**2) * sin(a * x), -(a**3) * cos(a * x))


def growth(work: Work) -> Case:
    a = work.number(1.2, 2.0)
    return lambda x: ad.exp(a * x) * x, f"x * exp({a} * x)", lambda x: (
        exp(a * x) * (1 + a * x),
        exp(a * x) * a * (2 + a * x),
        exp(a * x) * a**2 * (3 + a * x),
    )
