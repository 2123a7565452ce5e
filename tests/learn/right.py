"""Solutions that go other ways than ours, and must pass all the same; and programs that know the demonstration's numbers by heart."""

from __future__ import annotations

RIGHT: dict[str, list[str]] = {
    "chain_rule": ["""
from functools import partial
from math import cos
from adjoint import sin, tensor

by_hand = partial(lambda factor, x: factor * x * cos(3 * x * x + 1), 6)

def by_autograd(x):
    x = tensor([x], requires_grad=True)
    sin(3 * x * x + 1).sum().backward()
    return x.grad[0]
"""],
    "absolute": ["""
import adjoint as ad

class Abs(ad.autograd.Function):
    @staticmethod
    def forward(x):
        return x.abs()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.slope = (inputs[0] > 0).to(ad.float64) - (inputs[0] < 0).to(ad.float64)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.slope
"""],
    "training_loop": ["""
def train(model, optimizer, batches):
    losses = []
    for x, y in batches:
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        model.zero_grad()
        losses += [float(loss.detach())]
    return losses
"""],
    "derivatives": ["""
from adjoint import tensor
from adjoint.func import grad

def derivatives(f, x):
    x = tensor(x)
    return [grad(f)(x), grad(grad(f))(x), grad(grad(grad(f)))(x)]
""", """
import adjoint as ad

def derivatives(f, x):
    x = ad.tensor(x, requires_grad=True)
    y, found = f(x), []
    for _ in range(3):
        x.grad = None
        y.backward(create_graph=True)
        y = x.grad
        found.append(float(y.detach()))
    x.grad = None
    return found
""", """
import adjoint as ad

def derivatives(f, x):
    def slope(g):
        return lambda x: ad.func.jvp(g, (x,), (ad.ones_like(x),))[1]

    x = ad.tensor(x)
    return slope(f)(x).item(), slope(slope(f))(x).item(), slope(slope(slope(f)))(x).item()
"""],
    "modes": ["""
def passes(mode, inputs, outputs):
    return {"forward": inputs, "reverse": outputs}[mode]

def better(inputs, outputs):
    forward, reverse = passes("forward", inputs, outputs), passes("reverse", inputs, outputs)
    return "forward" if forward < reverse else "reverse" if reverse < forward else "either"
"""],
    "leaves": ["""
def is_leaf(from_operation, requires_grad):
    return not requires_grad or not from_operation

def has_grad(from_operation, requires_grad, retains):
    if not requires_grad:
        return False
    return retains or is_leaf(from_operation, requires_grad)
"""],
    "micro_batches": ["""
def step(model, optimizer, batches):
    rows = sum(len(x) for x, _ in batches)
    model.zero_grad()
    losses = []
    for x, y in batches:
        loss = ((model(x) - y) ** 2).sum() / rows
        loss.backward()
        losses.append(loss.detach())
    optimizer.step()
    return sum(losses)
"""],
    "mini_tensor": ["""
from __future__ import annotations
from dataclasses import dataclass

@dataclass(eq=False)
class MiniTensor:
    value: float
    requires_grad: bool = False
    parts: tuple[tuple[MiniTensor, float], ...] = ()  # the parents, and the derivatives by them
    grad: float = 0.0

    @staticmethod
    def of(x):
        return x if isinstance(x, MiniTensor) else MiniTensor(x)

    def __add__(self, other):
        other = self.of(other)
        return MiniTensor(self.value + other.value, True, ((self, 1.0), (other, 1.0)))

    def __mul__(self, other):
        other = self.of(other)
        return MiniTensor(self.value * other.value, True, ((self, other.value), (other, self.value)))

    def __pow__(self, n):
        return MiniTensor(self.value ** n, True, ((self, n * self.value ** (n - 1)),))

    __radd__, __rmul__ = __add__, __mul__

    def backward(self):
        uses, todo = {self: 0}, [self]
        while todo:
            for parent, _ in todo.pop().parts:
                if parent not in uses:
                    uses[parent] = 0
                    todo.append(parent)
                uses[parent] += 1
        arrived, ready = {self: 1.0}, [self]
        while ready:
            node = ready.pop()
            if node.requires_grad:
                node.grad += arrived[node]
            for parent, derivative in node.parts:
                arrived[parent] = arrived.get(parent, 0.0) + derivative * arrived[node]
                uses[parent] -= 1
                if not uses[parent]:
                    ready.append(parent)
"""],
    "mini_broadcast": ["""
import numpy as np

def unbroadcast(gradient, shape):
    while gradient.ndim > len(shape):
        gradient = gradient.sum(0)
    for axis, length in enumerate(shape):
        if length == 1:
            gradient = gradient.sum(axis, keepdims=True)
    return gradient

class MiniTensor:
    def __init__(self, value, requires_grad=False):
        self.value, self.grad, self.ways = np.array(value, dtype=float), 0.0, []

    def made(self, value, *ways):
        out = MiniTensor(value)
        out.ways = ways
        return out

    def __add__(self, other):
        return self.made(self.value + other.value, (self, lambda g: g), (other, lambda g: g))

    def __mul__(self, other):
        return self.made(self.value * other.value, (self, lambda g: g * other.value), (other, lambda g: g * self.value))

    def sum(self):
        return self.made(self.value.sum(), (self, lambda g: g * np.ones_like(self.value)))

    def backward(self, g=None):  # every way from out to a leaf by itself: slow, and right
        g = np.ones_like(self.value) if g is None else g
        self.grad = self.grad + g
        for parent, rule in self.ways:
            parent.backward(unbroadcast(rule(g), parent.value.shape))
"""],
    "mini_train": [],
}  # fmt: skip
RIGHT["mini_deep"] = RIGHT["mini_tensor"]  # it counts uses, and never calls itself
RIGHT["mini_train"] = [RIGHT["mini_tensor"][0] + """
def fit(xs, ys, steps, rate):
    w = b = 0.0
    for _ in range(steps):
        slope, shift = MiniTensor(w, True), MiniTensor(b, True)
        loss = sum((slope * x + shift + -y) ** 2 for x, y in zip(xs, ys)) * len(xs) ** -1
        loss.backward()
        w, b = w - rate * slope.grad, b - rate * shift.grad
    return [w, b]
"""]

BY_HEART = {
    "chain_rule": "def by_hand(x): return -0.5347\ndef by_autograd(x): return -0.5347\nprint(-0.5347, -0.5347)",
    "absolute": """
import adjoint as ad

class Abs(ad.autograd.Function):
    @staticmethod
    def forward(ctx, x): return ad.tensor([2.0, 0.0, 3.0])
    @staticmethod
    def backward(ctx, g): return ad.tensor([-1.0, 0.0, 1.0])
""",
    "training_loop": "def train(model, optimizer, batches): return [10.0 * 0.9**i for i in range(len(batches))]",
    "derivatives": "def derivatives(f, x): return 4.0, 12.0, 24.0",
    "modes": "def passes(mode, inputs, outputs): return 1_000_000 if mode == 'forward' else 1\ndef better(n, m): return 'reverse'",
    "leaves": "def is_leaf(a, b): return True\ndef has_grad(a, b, c): return True",
    "micro_batches": "def step(model, optimizer, batches): return 1.25",
    "mini_tensor": """
class MiniTensor:
    def __init__(self, value, requires_grad=False): self.value, self.grad = value, {2.0: 7.0, 3.0: 2.0}.get(value, 0.0)
    def __add__(self, other): return MiniTensor(5.0)
    def __mul__(self, other): return MiniTensor(10.0)
    def __pow__(self, n): return MiniTensor(8.0)
    def backward(self): pass
""",
    "mini_broadcast": """
import numpy as np

def unbroadcast(gradient, shape): return np.full(shape, 2.0)

class MiniTensor:
    def __init__(self, value, requires_grad=False):
        self.value, self.grad = np.asarray(value), np.full(np.shape(value), 2.0)
    def _add_grad(self, gradient): pass
    def __add__(self, other): return self
    def __mul__(self, other): return self
    def sum(self): return self
    def backward(self): pass
""",
    "mini_train": """
class MiniTensor:
    def __init__(self, value, requires_grad=False, parents=()): self.value, self.grad = value, 0.0
    def _add_grad(self, gradient): pass
    def __add__(self, other): return self
    def __mul__(self, other): return self
    def __pow__(self, n): return self
    def backward(self): pass

def fit(xs, ys, steps, rate): return 2.0, 1.0
""",
}  # fmt: skip
BY_HEART["mini_deep"] = BY_HEART["mini_tensor"] + "    def _add_grad(self, gradient): pass\n"
