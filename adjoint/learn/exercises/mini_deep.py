"""Deep graphs, without recursion.

The MiniTensor of the challenge orders its graph by a function that calls itself. Python allows about a thousand such calls within each
other, and a long sum makes a graph that is far deeper.

Rewrite backward() with a loop and a stack of your own, so that a chain of 20,000 operations works. Each node's rule must still run once,
and only when all of its gradient has arrived. adjoint's own engine is such a loop.
"""

from __future__ import annotations

import sys

from .. import _probes
from .._exercise import Mistake
from .._work import Work, shown
from . import mini_tensor

DEPTH, LEVELS = 20_000, 60

SKELETON = mini_tensor.SOLUTION

BACKWARD = '''    def backward(self):
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            node, parents_done = stack.pop()
            if parents_done:
                order.append(node)  # after everything that it was computed from
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack.extend((parent, False) for parent in node._parents)
        self.grad = 1.0
        for node in reversed(order):
            node._backward()
'''

_before, _, _rest = SKELETON.partition("    def backward(self):\n        order")
SOLUTION = _before + BACKWARD + _rest[_rest.index("\n    __radd__") :]

HINTS = (
    "A recursive walk keeps its place in Python's call stack. Keep it in a list instead: append what is still to do, pop what is next.",
    "Each node is met twice: first to put its parents on the stack, and again, when they are done, to be appended to the order. "
    "Put pairs (node, parents_done) on the stack.",
    "Or count: first find how many nodes use each node, then hand out gradients from out on, and take a node as soon as its count is 0.",
)

ERRORS = mini_tensor.ERRORS | {
    "maximum recursion depth": f"backward() still calls itself, and the chain has {DEPTH:,} nodes. Use a loop, and a list as its stack.",
}


def examine(work: Work) -> None:
    _probes.written_alone(work)
    mini_tensor.rules(work)
    for length in (5, 8, 20, 60):
        _probes.probe(work, *_probes.random_program(work.random, length), mini_tensor.ORDER)
    chain(work)
    tower(work)
    if sys.getrecursionlimit() >= DEPTH:
        sys.setrecursionlimit(1_000)
        raise Mistake("A higher recursion limit only moves the wall, and may crash Python. Use a loop, and a list as its stack.")


def chain(work: Work) -> None:
    work.doing = f"It is a chain of {DEPTH:,} additions. `node in order` looks through the whole list each time: ask a set instead."
    a = work.MiniTensor(work.number(1.0, 2.0), requires_grad=True)
    out = a
    for _ in range(DEPTH):
        out = out + a
    out.backward()
    if a.grad != DEPTH + 1:
        raise Mistake(f"In a sum of a with itself, {DEPTH:,} times, a.grad should be {DEPTH + 1}, and is {shown(a.grad)}.")


def tower(work: Work) -> None:
    work.doing = f"It has only {LEVELS} nodes, each added to itself, but 2**{LEVELS} ways lead down: remember which nodes were visited."
    a = work.MiniTensor(1.0, requires_grad=True)
    out = a
    for _ in range(LEVELS):
        out = out + out
    out.backward()
    if a.grad != 2.0**LEVELS:
        raise Mistake(f"After out = out + out, {LEVELS} times, a.grad should be 2**{LEVELS}, and is {shown(a.grad)}. {mini_tensor.ORDER}")
