"""Arrays, and what broadcasting does to gradients.

This MiniTensor holds a NumPy array. NumPy broadcasts: a (2, 3) array plus a (3,) array uses each number of the second one twice. What is
used twice gets two gradients, and they add up. So a gradient that comes back has the shape of the result, and must be summed to the
shape of the operand.

- Write unbroadcast(gradient, shape): the array `gradient` summed to `shape`, from which it was broadcast.
- Mend the rules of + and * with it, so that every grad has the shape of its value.
- Write sum(), the sum of all elements as a MiniTensor, and its rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._exercise import Mistake
from .._probes import probe, written_alone
from .._work import Mistakes, Work, close, diagnosed, plain

SKELETON = '''
import numpy as np


def unbroadcast(gradient, shape):
    """The array `gradient`, summed to the shape that was broadcast to it."""
    raise NotImplementedError


class MiniTensor:
    """An array that remembers how it was computed."""

    def __init__(self, value, requires_grad=False, parents=()):
        self.value = np.asarray(value, dtype=float)
        self.grad = np.zeros(self.value.shape)
        self.requires_grad = requires_grad or any(parent.requires_grad for parent in parents)
        self._parents = parents
        self._backward = lambda: None  # passes self.grad on to the parents

    def _add_grad(self, gradient):
        if self.requires_grad:
            self.grad = self.grad + gradient

    def __add__(self, other):
        out = MiniTensor(self.value + other.value, parents=(self, other))

        def backward():
            self._add_grad(out.grad)
            other._add_grad(out.grad)

        out._backward = backward
        return out

    def __mul__(self, other):
        out = MiniTensor(self.value * other.value, parents=(self, other))

        def backward():
            self._add_grad(other.value * out.grad)
            other._add_grad(self.value * out.grad)

        out._backward = backward
        return out

    def sum(self):
        raise NotImplementedError

    def backward(self):
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            node, parents_done = stack.pop()
            if parents_done:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack.extend((parent, False) for parent in node._parents)
        self.grad = np.ones(self.value.shape)
        for node in reversed(order):
            node._backward()


if __name__ == "__main__":
    a = MiniTensor(np.ones((2, 3)), requires_grad=True)
    b = MiniTensor([1.0, 2.0, 3.0], requires_grad=True)
    (a * b).sum().backward()
    print(a.grad, b.grad)  # b.grad is [2, 2, 2]
'''

_MENDED = (
    ('''shape that was broadcast to it."""
    raise NotImplementedError
''', '''shape that was broadcast to it."""
    added = gradient.ndim - len(shape)
    stretched = [axis for axis, length in enumerate(shape, added) if length == 1]
    return gradient.sum(axis=(*range(added), *stretched), keepdims=True).reshape(shape)
'''),
    ("self.grad = self.grad + gradient", "self.grad = self.grad + unbroadcast(gradient, self.value.shape)"),
    ('''    def sum(self):
        raise NotImplementedError
''', '''    def sum(self):
        out = MiniTensor(self.value.sum(), parents=(self,))

        def backward():
            self._add_grad(np.broadcast_to(out.grad, self.value.shape))

        out._backward = backward
        return out
'''),
)  # fmt: skip

SOLUTION = SKELETON
for _old, _new in _MENDED:
    SOLUTION = SOLUTION.replace(_old, _new)

HINTS = (
    "Broadcasting does two things to a shape: it puts axes in front of it, and it stretches axes of length 1. Undo both, by summing.",
    "Axes that were added in front are summed away. Axes of length 1 in `shape` are summed with keepdims=True, so that they stay.",
    "One place is enough: let _add_grad call unbroadcast(gradient, self.value.shape).",
    "The sum has the derivative 1 by each element: out.grad, one number, is broadcast to the shape of the value.",
)

ERRORS = {
    "cannot reshape": "Sum before you reshape: the gradient has more numbers than the shape has room for.",
    "could not be broadcast": "The shapes do not fit when the gradient is added up. Sum it to the shape of the value first.",
    "out of bounds for array": "After an axis is summed away, those behind it have moved up. Sum all in one call, or use keepdims.",
}

SHAPES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((2, 3), (2, 3)), ((2, 3), (3,)), ((4, 3), (4, 1)), ((2, 3), (1, 3)), ((2, 3), ()), ((4, 2, 3), (2, 1)), ((2, 2, 2), (1, 2, 1)),
)  # fmt: skip


def axes(gradient: Any, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes that broadcasting put in front, and those that it stretched."""
    added = gradient.ndim - len(shape)
    return tuple(range(added)), tuple(axis for axis, length in enumerate(shape, added) if length == 1 < gradient.shape[axis])


def right(gradient: Any, shape: tuple[int, ...]) -> Any:
    front, stretched = axes(gradient, shape)
    return gradient.sum(axis=(*front, *stretched)).reshape(shape)


MISTAKES: Mistakes = {
    "Gradients of several uses add up: take the sum, not the mean.": [lambda g, shape: g.mean(axis=sum(axes(g, shape), ())).reshape(shape)],
    "An axis of length 1 must stay: sum with keepdims=True, or reshape in the end.": [lambda g, shape: g.sum(axis=sum(axes(g, shape), ()))],
    "Axes in front are summed away, but axes of length 1 that were stretched are not. Sum those too, with keepdims=True.":
        [lambda g, shape: g.sum(axis=axes(g, shape)[0])],
    "Axes of length 1 are summed, but axes that `shape` does not have at all, in front, are still there.":
        [lambda g, shape: g.sum(axis=axes(g, shape)[1], keepdims=True)],
    "The gradient comes back with the shape it had. Sum it over the axes that broadcasting added or stretched.": [lambda g, shape: g],
    "One part of the gradient is taken, and the others are lost. They add up.": [lambda g, shape: g[first_part(g, shape)].reshape(shape)],
    "Everything is summed to one number. Sum only over the axes that broadcasting added or stretched.": [lambda g, shape: g.sum()],
}


def first_part(gradient: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    summed = sum(axes(gradient, shape), ())
    return tuple(0 if axis in summed else slice(None) for axis in range(gradient.ndim))


def examine(work: Work) -> None:
    written_alone(work)
    draw = np.random.default_rng(work.random.getrandbits(32))
    cases = [(draw.uniform(1.0, 2.0, size), shape) for size, shape in SHAPES]
    summed(work, cases)
    for program, first, second, hint in PROGRAMS:
        probe(work, program, {"a": draw.uniform(1.0, 2.0, first), "b": draw.uniform(1.0, 2.0, second)}, hint)


def summed(work: Work, cases: list[tuple[Any, tuple[int, ...]]]) -> None:
    """Raise unless `unbroadcast` is right. """

    def computed(formula: Callable[..., Any]) -> Any:
        return [(np.shape(answer), answer) for answer in (formula(gradient.copy(), shape) for gradient, shape in cases)]

    answers = plain(computed(work.unbroadcast))
    for (shape, answer), (gradient, wanted) in zip(answers, cases, strict=True):
        if shape != wanted or not close(answer, plain(right(gradient, wanted))):
            hint = diagnosed(answers, MISTAKES, computed) or HINTS[1]
            what = f"has the shape {shape}" if shape != wanted else "has other numbers than it should"
            raise Mistake(f"unbroadcast of a gradient of shape {gradient.shape} to the shape {wanted} {what}. {hint}")


RULES = "Are both rules, of + and of *, mended? Each gradient goes through unbroadcast, with the shape of the operand that gets it."
PROGRAMS = (
    ("out = (a * b).sum()", (2, 3), (2, 3), "The sum has the derivative 1 by each element: its rule passes out.grad on to all of them."),
    ("out = (a + b).sum()", (2, 3), (3,), RULES),
    ("out = (a * b).sum()", (2, 3), (2, 1), RULES),
    ("out = (a * b).sum() * b.sum()", (3, 1), (1, 4), "The rule of sum() multiplies by out.grad, too: the sum need not be the end."),
    ("c = a * b\nout = (c * c + b).sum()", (2, 3), (), RULES),
)  # fmt: skip
