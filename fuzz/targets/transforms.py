"""Transforms of functions that are made of random steps: grad, vjp, jvp, vmap, jacobians and Hessians, nested in any order."""

from __future__ import annotations

from typing import Any

from ..generate import Builder, EndError
from ..program import Leaf, Ref, Step
from .layers import some

UNARY = (
    ".sin", ".exp", ".tanh", ".square", ".sigmoid", ".neg", ".clone", ".cos", ".t", ".relu", ".cumsum(0)", ".sum(0)",
    ".sum(-1, keepdim=True)", ".mean(0)", ".softmax(-1)", ".unsqueeze(0)", "[0]", "[..., 1:]", "[..., None]", ".max(0)[0]",
    ".sort(-1)[0]", ".norm()", ".prod(-1)", ".logsumexp(-1)", ".detach()", ".roll(1, 0)", ".flip(0)", ".tril()",
    ".diagonal(0, 0, -1)", ".mT", ".reshape(-1)", ".expand(2, *{}.shape)", ".new_zeros({}.shape)", ".masked_fill({} > 0.5, 0.0)",
    ".clamp(0.2, 0.8)", ".abs()", ".log1p()", ".pow(2)", ".amax(-1)", ".flatten()",
)  # fmt: skip
BINARY = (
    "torch.mul", "torch.add", "torch.sub", "torch.matmul", "torch.maximum", "torch.where({} > {}, {}, {})", "torch.dot", "torch.outer",
    "torch.cat", "torch.stack", "torch.nn.functional.linear", "torch.nn.functional.mse_loss", "torch.hypot",
)  # fmt: skip


def body_step(b: Builder, known: list[Ref], inplace: bool) -> None:
    """A step of a function, on one or two of its values."""
    x = known[max(b.random.randrange(len(known)), b.random.randrange(len(known)))]
    t = b.value(x)
    same = [ref for ref in known if b.value(ref).shape == t.shape]
    y = b.pick(same)
    if b.chance(0.55):
        name = b.pick(UNARY)
        found = b.add(f"{{0}}{name.replace('{}', '{0}')}{'' if name.endswith((')', ']', 'T')) else '()'}", x, keep=0.0)
    elif inplace and b.chance(0.2) and x != y and x.number not in known_params(known):  # PyTorch's tangent of x.mul_(x) is wrong
        found = b.add(b.pick([".mul_", ".add_"]), x, b.pick([2.0, y]), keep=0.0)
    else:
        name = b.pick(BINARY)
        if name in ("torch.cat", "torch.stack"):
            found = b.add(name, [x, y], keep=0.0)
        elif "{" in name:
            found = b.add(name, x, y, x, y, keep=0.0)
        else:
            found = b.add(name, x, y, keep=0.0)
    if found is not None and isinstance(b.value(found), b.torch.Tensor) and b.value(found).numel() <= 200:
        known.append(found)


def known_params(known: list[Ref]) -> set[int]:
    return {known[0].number, known[1].number} if len(known) > 1 else {known[0].number}


def function(b: Builder, examples: list[Ref], scalar: bool) -> Ref:
    """A function of as many arguments as there are examples, which is run on them to see what fits."""
    params = [b.number() for _ in examples]
    before = len(b.steps)
    for number, example in zip(params, examples, strict=True):
        b.space[f"v{number}"] = b.value(example).clone()
    known = [Ref(number) for number in params]
    for _ in range(b.random.randint(1, 5)):
        body_step(b, known, inplace=True)
    result = known[-1]
    if scalar:
        total = b.add("{}.sin().sum()", result, keep=0.0)
        assert total is not None
        result = total
    body = tuple(b.steps[before:])
    del b.steps[before:]
    for step in body:
        b.space.pop(f"v{step.number}", None)
    for number in params:
        b.space.pop(f"v{number}", None)
    number = b.number()
    b.run(Step(number, "def", (result,), body=body, params=tuple(params)), 0)
    return Ref(number)


def transformed(b: Builder, f: Ref, examples: list[Ref], scalar: bool) -> None:
    """One transform, or one of another."""
    count = len(examples)
    argnums: Any = b.pick([0, count - 1, tuple(range(count))])
    shapes = [tuple(b.value(x).shape) for x in examples]
    kind = str(b.value(examples[0]).dtype).removeprefix("torch.")
    tangents = tuple(b.leaf(Leaf(shape, kind, b.random.randrange(99))) for shape in shapes)
    given = ", ".join(f"v{x.number}" for x in examples)
    once: list[str] = []
    if scalar:
        once += [f"torch.func.grad({{}}, argnums={argnums})", f"torch.func.grad_and_value({{}}, argnums={argnums})"]
        once += [f"torch.func.hessian({{}}, argnums={b.pick([0, count - 1])})"]
    once += [f"torch.func.jacrev({{}}, argnums={argnums})", f"torch.func.jacfwd({{}}, argnums={argnums})"]
    made = b.pick(once)
    choice = b.random.randrange(6)
    if choice == 0:
        b.add(f"torch.func.jvp({{}}, ({given},), {{}})", f, tangents)
    elif choice == 1:
        b.add(f"torch.func.vjp({{}}, {given})[1](torch.func.vjp({{}}, {given})[0])", f, f)
    elif choice == 2:
        b.add(f"{made}({given})", f)
    elif choice == 3:
        stacked = [b.leaf(Leaf((3, *shape), kind, b.random.randrange(99))) for shape in shapes]
        dims: Any = tuple(0 if b.chance(0.75) else None for _ in shapes)
        dims = dims if any(d == 0 for d in dims) else 0
        inputs = [stack if dims == 0 or dims[k] == 0 else x for k, (stack, x) in enumerate(zip(stacked, examples, strict=True))]
        inner = b.pick(["{}", made])
        options = "".join(f", {name}={value!r}" for name, value in some(b, chunk_size=[1, 2], randomness=["error", "same"]).items())
        called = ", ".join(f"v{x.number}" for x in inputs)
        b.add(f"torch.func.vmap({inner}, in_dims={dims}{options})({called})", f)
    elif choice == 4:
        outer = b.pick(["jacrev", "jacfwd"])
        b.add(f"torch.func.{outer}({made})({given})", f)
    else:
        b.add(f"torch.func.linearize({{}}, {given})[1](*{{}})", f, tangents)


def program(b: Builder) -> None:
    kind = b.pick(["float64", "float64", "float32"])
    shape = b.pick([(3,), (2, 2), (), (1, 3), (2, 3)])
    examples = [b.leaf(b.new(shape, kind, grad=b.chance(0.15), layout="", low=0.1, high=1.2)) for _ in range(b.random.randint(1, 2))]
    scalar = b.chance(0.6)
    try:
        f = function(b, examples, scalar)
        for _ in range(b.random.randint(1, 3)):
            transformed(b, f, examples, scalar)
    except EndError:
        pass


