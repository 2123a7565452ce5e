"""Arrays, and what broadcasting does to gradients.

This MiniTensor holds a NumPy array. NumPy broadcasts: a (2, 3) array plus a (3,) array uses each number of the second one twice. What is
used twice gets two gradients, and they add up. So a gradient that comes back has the shape of the result, and must be summed to the
shape of the operand.

- Write unbroadcast(gradient, shape): the array `gradient` summed to `shape`, from which it was broadcast.
- Mend the rules of + and * with it, so that every grad has the shape of its value.
- Write sum(), the sum of all elements as a MiniTensor, and its rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._probes import probe, written_alone
from .._work import Mistakes, Work

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
    "non-broadcastable output": "The gradient has more numbers than the grad it is added to. Sum it to the shape of the value first.",
    "out of bounds for array": "After an axis is summed away, those behind it have moved up. Sum all in one call, or use keepdims.",
}

# What a shape was broadcast to, and the shape.
SHAPES = (((2, 3), (2, 3)), ((2, 3), (3,)), ((4, 3), (4, 1)), ((2, 3), (1, 3)), ((2, 3), ()), ((4, 2, 3), (2, 1)), ((2, 2, 2), (1, 2, 1)))


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
    "Everything is summed to one number. Sum only over the axes that broadcasting added or stretched.": [lambda g, shape: g.sum()],
}


def examine(work: Work) -> None:
    written_alone(work)
    draw = np.random.default_rng(work.random.getrandbits(32))
    work.compare("unbroadcast", [(draw.integers(1, 10, size).astype(float), shape) for size, shape in SHAPES], right, MISTAKES)
    for program, first, second, hint in PROGRAMS:
        probe(work, program, {"a": draw.integers(5, 20, first) / 4, "b": draw.integers(5, 20, second) / 4}, hint)


RULES = "Are both rules, of + and of *, mended? Each gradient goes through unbroadcast, with the shape of the operand that gets it."
PROGRAMS = (
    ("out = (a * b).sum()", (2, 3), (2, 3), "The sum has the derivative 1 by each element: its rule passes out.grad on to all of them."),
    ("out = (a + b).sum()", (2, 3), (3,), RULES),
    ("out = (a * b).sum()", (2, 3), (2, 1), RULES),
    ("out = (a * b).sum() * b.sum()", (3, 1), (1, 4), "The rule of sum() multiplies by out.grad, too: the sum need not be the end."),
    ("c = a * b\nout = (c * c + b).sum()", (2, 3), (), RULES),
)  # fmt: skip
