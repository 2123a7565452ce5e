"""The chain rule by hand, and by autograd.

Let f(x) = sin(3x² + 1). Write two functions that take a number x and return the number f'(x):

- by_hand(x): with the chain rule, from u = 3x² + 1 and f = sin(u). Use the module `math` and nothing of adjoint.
- by_autograd(x): with adjoint. Make x a tensor that requires its gradient, compute f, call backward(), read the gradient.

Two ways to one number: that is how every derivative rule in adjoint is tested.
"""

from __future__ import annotations

from math import cos, sin

from .._exercise import Mistake
from .._work import Work

SKELETON = '''
import math

import adjoint as ad


def by_hand(x):
    """The derivative of sin(3x² + 1) at x, by the chain rule."""
    raise NotImplementedError


def by_autograd(x):
    """The same number, by adjoint."""
    raise NotImplementedError


if __name__ == "__main__":
    print(by_hand(0.5), by_autograd(0.5))
'''

SOLUTION = '''
import math

import adjoint as ad


def by_hand(x):
    """The derivative of sin(3x² + 1) at x, by the chain rule."""
    u = 3 * x**2 + 1
    du_dx = 6 * x
    df_du = math.cos(u)
    return df_du * du_dx


def by_autograd(x):
    """The same number, by adjoint."""
    x = ad.tensor(x, dtype=ad.float64, requires_grad=True)
    f = ad.sin(3 * x**2 + 1)
    f.backward()
    return x.grad.item()


if __name__ == "__main__":
    print(by_hand(0.5), by_autograd(0.5))
'''

HINTS = (
    "Name the pieces: u = 3x² + 1 is the inner function, sin(u) the outer one. The chain rule says df/dx = df/du · du/dx.",
    "The derivative of sin(u) is cos(u), taken at u and not at x. The derivative of 3x² + 1 is 6x.",
    "For autograd: x = ad.tensor(x, requires_grad=True), then f = ad.sin(3 * x**2 + 1), f.backward(), and x.grad.item() is the number.",
)

ERRORS = {
    "does not require grad": "Only a tensor made with requires_grad=True is followed: ad.tensor(x, requires_grad=True).",
    "'float' object has no attribute 'backward'":
        "f is a plain number: functions of `math` return those. On tensors use ad.sin, which autograd can follow.",
    "'NoneType' object has no attribute": "x.grad is None until backward() has been called on a result that was computed from x.",
}


def u(x: float) -> float:
    return 3 * x**2 + 1


def right(x: float) -> float:
    return cos(u(x)) * 6 * x


MISTAKES = {
    "That is df/du, the outer derivative. The chain rule multiplies it by du/dx, the derivative of 3x² + 1.": [lambda x: cos(u(x))],
    "That is du/dx, the inner derivative. The chain rule multiplies it by df/du, the derivative of sin at u.": [lambda x: 6 * x],
    "The outer derivative is taken where the outer function is evaluated: cos(u) with u = 3x² + 1, not cos(x).": [lambda x: cos(x) * 6 * x],
    "The derivative of the inner function is a factor beside cos(u); it does not go inside the cosine.": [lambda x: cos(6 * x)],
    "The derivative of 3x² is 6x: the factor 3 stays.": [lambda x: cos(u(x)) * 2 * x],
    "The chain rule multiplies the two derivatives; here they are added.": [lambda x: cos(u(x)) + 6 * x],
    "The derivative of sin(u) is cos(u).": [lambda x: sin(u(x)) * 6 * x, lambda x: -sin(u(x)) * 6 * x],
    "The sign is wrong: the derivative of sin is cos, and it is cos that turns into -sin.": [lambda x: -right(x)],
    "The derivative of the constant 1 is 0, not 1.": [lambda x: cos(u(x)) * (6 * x + 1)],
    "That is f(x), and not its derivative. After f.backward() the derivative is in x.grad.": [lambda x: sin(u(x))],
}


def examine(work: Work) -> None:
    cases = [(work.number(0.3, 2.0),) for _ in range(5)]
    work.compare("by_hand", cases, right, MISTAKES, tolerance=1e-10)
    work.compare("by_autograd", cases, right, MISTAKES, tolerance=1e-4)  # float32 is fine
    if work.backward_passes["by_hand"]:
        raise Mistake("by_hand is right, but autograd did it: write the product of the two derivatives with `math` alone.")
    if work.backward_passes["by_autograd"] < len(cases):
        raise Mistake("by_autograd is right, but no backward pass was run: let f.backward() find the derivative.")
