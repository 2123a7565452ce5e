"""A small autograd of your own.

Write the class `MiniTensor`: one number that remembers how it was computed, and can send gradients back.

- MiniTensor(value, requires_grad=False) has the attributes value and grad; grad begins as 0.0.
- a + b, a * b and a ** n (n is a plain number) return new MiniTensors. A plain number may stand for a or b: a + 1, 2 * a.
- out.backward() adds to the grad of every MiniTensor that requires it the derivative of out with respect to it.
  What is used several times gets the sum over all its uses. A second backward(), from another result, adds to the first.
- A MiniTensor that does not require its gradient keeps grad 0.0.

The checker builds random graphs, computes them with your class and with adjoint, and compares. NumPy and the standard library are
allowed, a library that differentiates is not.
"""

from __future__ import annotations

from .._exercise import Mistake
from .._probes import probe, random_program, written_alone
from .._work import Work, shown

SKELETON = '''
class MiniTensor:
    """A number that remembers how it was computed."""

    def __init__(self, value, requires_grad=False):
        self.value = value
        self.grad = 0.0
        self.requires_grad = requires_grad
        self._parents = ()
        self._backward = lambda: None  # passes self.grad on to the parents

    def __add__(self, other):
        raise NotImplementedError

    def __mul__(self, other):
        raise NotImplementedError

    def __pow__(self, exponent):
        raise NotImplementedError

    def backward(self):
        raise NotImplementedError

    __radd__ = __add__  # 1 + a is a + 1
    __rmul__ = __mul__


if __name__ == "__main__":
    a = MiniTensor(2.0, requires_grad=True)
    b = MiniTensor(3.0, requires_grad=True)
    c = a + b
    d = c * a
    d.backward()
    print(a.grad, b.grad)  # 7 and 2: a is used twice
'''

SOLUTION = '''
class MiniTensor:
    """A number that remembers how it was computed."""

    def __init__(self, value, requires_grad=False, parents=()):
        self.value = value
        self.grad = 0.0
        self.requires_grad = requires_grad or any(parent.requires_grad for parent in parents)
        self._parents = parents
        self._backward = lambda: None  # passes self.grad on to the parents

    def _add_grad(self, gradient):
        if self.requires_grad:
            self.grad += gradient

    def __add__(self, other):
        other = other if isinstance(other, MiniTensor) else MiniTensor(other)
        out = MiniTensor(self.value + other.value, parents=(self, other))

        def backward():
            self._add_grad(out.grad)
            other._add_grad(out.grad)

        out._backward = backward
        return out

    def __mul__(self, other):
        other = other if isinstance(other, MiniTensor) else MiniTensor(other)
        out = MiniTensor(self.value * other.value, parents=(self, other))

        def backward():
            self._add_grad(other.value * out.grad)
            other._add_grad(self.value * out.grad)

        out._backward = backward
        return out

    def __pow__(self, exponent):
        out = MiniTensor(self.value**exponent, parents=(self,))

        def backward():
            self._add_grad(exponent * self.value ** (exponent - 1) * out.grad)

        out._backward = backward
        return out

    def backward(self):
        order, seen = [], set()

        def visit(node):
            if node not in seen:
                seen.add(node)
                for parent in node._parents:
                    visit(parent)
                order.append(node)  # after everything that it was computed from

        visit(self)
        self.grad = 1.0
        for node in reversed(order):
            node._backward()

    __radd__ = __add__  # 1 + a is a + 1
    __rmul__ = __mul__


if __name__ == "__main__":
    a = MiniTensor(2.0, requires_grad=True)
    b = MiniTensor(3.0, requires_grad=True)
    c = a + b
    d = c * a
    d.backward()
    print(a.grad, b.grad)  # 7 and 2: a is used twice
'''

HINTS = (
    "Let each operation make a new MiniTensor that knows its parents, with a function _backward that passes its own grad on to them.",
    "For out = a + b both parents get out.grad. For out = a * b, a gets b.value * out.grad, and b gets a.value * out.grad. "
    "For out = a ** n, a gets n * a.value ** (n - 1) * out.grad. Always add (+=): a parent may be used elsewhere too.",
    "A node may pass its gradient on only when it has all of it. So order the nodes such that each comes after its parents "
    "(visit the parents first, then append the node), and run the rules in reverse.",
    "backward(): order the graph, set self.grad = 1.0, then for node in reversed(order): node._backward().",
)

ERRORS = {
    "unsupported operand type": "A plain number may stand on either side: `1 + a` calls a.__radd__(1), `2 * a` calls a.__rmul__(2).",
    "has no attribute 'value'": "One of the operands may be a plain number (a + 1): make a MiniTensor of it before you ask for its value.",
    "has no attribute 'grad'": "Each MiniTensor needs an attribute grad from the beginning: self.grad = 0.0 in __init__.",
}

UPSTREAM = "Each rule multiplies its own derivative by the gradient that arrives, out.grad: that is the chain rule."
SHARED = "a is used twice, so two gradients arrive, and they must be added: `self.grad += ...`, not `=`."
ORDER = (
    "A node was asked to pass its gradient on before all of it had arrived, or more than once. Order the graph first: a node's rule runs "
    "once, after the rules of all nodes that were computed from it."
)


def rules(work: Work) -> None:
    """Each operation by itself, then what comes of putting them together. The first that fails names the mistake."""
    n = work.random.randint(3, 5)
    values = {"a": work.number(1.2, 1.9), "b": work.number(2.1, 2.9)}
    only_a = {"a": values["a"]}
    probe(work, "out = a + b", values, "The derivative of a sum is 1 by either operand: both get out.grad as it is.")
    probe(work, "out = a * b", values, "The derivative of a * b by a is b.value, and by b it is a.value.", {
        "Each operand gets its own value as derivative. It is the value of the other one.": [lambda a, b: (a, b)],
        "Those are the derivatives of a sum. In a product each is multiplied by the value of the other.": [lambda a, b: (1.0, 1.0)],
    })  # fmt: skip
    probe(work, f"out = a ** {n}", only_a, "The derivative of a ** n is n * a ** (n - 1).", {
        "The factor n is missing: the derivative of a ** n is n * a ** (n - 1).": [lambda a: (a ** (n - 1),)],
        "The exponent must become smaller by one: the derivative of a ** n is n * a ** (n - 1).": [lambda a: (n * a**n,)],
        "That is right for n = 2 only: the derivative of a ** n is n * a ** (n - 1).": [lambda a: (n * a,)],
    })  # fmt: skip
    for text in ("out = (a * b) ** 2", "out = (a + b) * 3", "out = (a ** 2) * b", "out = (a * b) + 1"):
        probe(work, text, values, UPSTREAM)
    for text in ("out = a + a", "out = a * a", "out = a * b + a"):
        probe(work, text, values if "b" in text else only_a, SHARED)
    for text in ("c = a * b\nd = c + a\nout = c * d", "c = a + b\nd = c * c\ne = d * c\nout = e + d * a"):
        probe(work, text, values, ORDER)


def examine(work: Work) -> None:
    written_alone(work)
    rules(work)
    twice(work)
    constants(work)
    for length in (3, 5, 8, 20, 60):
        program, values = random_program(work.random, length)
        probe(work, program, values, ORDER)


def twice(work: Work) -> None:
    a, factor = work.MiniTensor(work.number(1.0, 2.0), requires_grad=True), work.random.randint(2, 5)
    (a * factor).backward()
    (a + 1.0).backward()
    if a.grad != factor + 1:
        why = "backward() must not empty the grad of the leaves" if a.grad == 1 else "gradients of two results add up"
        told = f"After (a * {factor}).backward() and (a + 1.0).backward(), a.grad should be {factor + 1}, and is {shown(a.grad)}"
        raise Mistake(f"{told}: {why}.")


def constants(work: Work) -> None:
    a, b = work.MiniTensor(2.0, requires_grad=True), work.MiniTensor(work.number(3.0, 4.0))
    out = a * b + b
    out.backward()
    if b.grad != 0.0:
        raise Mistake(f"b was made without requires_grad=True, so its grad should stay 0.0. It is {shown(b.grad)}.")
