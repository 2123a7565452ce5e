"""Graphs: several backward passes, hooks of every kind, retained gradients, second derivatives, custom functions, saved tensors."""

from __future__ import annotations

from typing import Any

from ..generate import Builder, EndError
from ..program import Leaf, Ref, Step, Text
from .layers import some

UNARY = (".sin", ".exp", ".tanh", ".square", ".sigmoid", ".neg", ".clone", ".relu", ".abs", ".cos", ".log1p", ".t", ".detach")
BINARY = ("torch.mul", "torch.add", "torch.sub", "torch.matmul", "torch.maximum", "torch.atan2", "torch.hypot")
REDUCED = (".sum", ".mean", ".max", ".prod", ".logsumexp", ".norm", ".cumsum", ".softmax", ".var", ".amax")
TENSOR_HOOKS = ("lambda g: g * 2", "lambda g: log.append(g.detach().clone())", "lambda g: None", "lambda g: g + g.sum()")
NODE_HOOKS = (
    "register_hook(lambda gi, go: log.append([g is None for g in (*gi, *go)]))",
    "register_hook(lambda gi, go: tuple(None if g is None else g * 3 for g in gi))",
    "register_prehook(lambda go: log.append(len(go)))",
    "register_prehook(lambda go: tuple(None if g is None else g * 2 for g in go))",
)
FUNCTIONS = {
    "Saved": """
class {}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y): ctx.save_for_backward(x, y); return x * y.sin()
    @staticmethod
    def backward(ctx, g): x, y = ctx.saved_tensors; return g * y.sin(), (g * x * y.cos()) if ctx.needs_input_grad[1] else None""",
    "Two": """
class {}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y): ctx.set_materialize_grads(False); return x * 2, x + y
    @staticmethod
    def backward(ctx, g, h): log.append((g is None, h is None)); return (g * 2 if g is not None else 0) + (h if h is not None else 0), h""",
    "Dirty": """
class {}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y): x = x if not x.is_leaf else x.clone(); ctx.mark_dirty(x); return x.mul_(2)
    @staticmethod
    def backward(ctx, g): return g * 2, None""",
    "Constant": """
class {}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y): z = (x > 0).to(x.dtype); ctx.mark_non_differentiable(z); return x * y, z
    @staticmethod
    def backward(ctx, g, h): return g * 3, g * 5""",
    "Setup": """
class {}(torch.autograd.Function):
    @staticmethod
    def forward(x, y): return x.exp() * y
    @staticmethod
    def setup_context(ctx, inputs, output): ctx.save_for_backward(*inputs, output)
    @staticmethod
    def backward(ctx, g): x, y, out = ctx.saved_tensors; return g * out, g * x.exp()
    @staticmethod
    def jvp(ctx, a, b): x, y, out = ctx.saved_tensors; return a * out + b * x.exp()""",
    "Once": """
class {}(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y): ctx.save_for_backward(x); return x.sin() + y
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g): x, = ctx.saved_tensors; return g * x.cos(), g""",
}


def custom(b: Builder) -> Ref | None:
    """A function of the user's, on two tensors of one shape."""
    x = b.tensor(lambda t: t.is_floating_point() and t.numel())
    if x is None:
        return None
    shape = b.value(x).shape
    y = b.tensor(lambda t: t.shape == shape and t.dtype == b.value(x).dtype)
    name = b.pick(list(FUNCTIONS))
    number = b.number()
    source = FUNCTIONS[name].strip().replace("class {}", f"class v{number}")
    b.run(Step(number, "class {}", (Text(source.removeprefix("class ")),)), 0)
    return b.add("{}.apply({}, {})", Ref(number), x, y or x)


def some_step(b: Builder) -> None:
    x = b.tensor(lambda t: t.is_floating_point() and t.numel() <= 64)
    if x is None:
        return
    t = b.value(x)
    same = b.tensor(lambda o: o.shape == t.shape and o.dtype == t.dtype)
    kind = b.random.randrange(16)
    if kind < 3:
        b.add(b.pick(UNARY), x)
    elif kind < 6:
        b.add(b.pick(BINARY), x, same or x)
    elif kind < 7:
        dims: tuple[Any, ...] = (b.random.randrange(t.dim()),) if t.dim() else ()
        b.add(b.pick(REDUCED), x, *dims)
    elif kind == 7:
        b.add("{}[0]", b.add(b.pick([".sort", ".topk", ".unbind", ".chunk"]), x, 1) or x)
    elif kind == 8 and t.requires_grad:
        b.add(".register_hook", x, Text(b.pick(TENSOR_HOOKS)))
    elif kind == 9 and t.requires_grad:
        if t.grad_fn is not None:
            b.add(f"{{}}.grad_fn.{b.pick(NODE_HOOKS)}", x)
        else:
            b.add("{}.register_post_accumulate_grad_hook(lambda p: log.append(p.grad.clone()))", x)
    elif kind == 10 and t.requires_grad:
        b.add(".retain_grad", x)
    elif kind == 11:
        custom(b)
    elif kind == 12:
        b.backward(retain=b.chance(0.7))
    elif kind == 13:
        gradient(b)
    elif kind == 14 and same is not None and same != x:
        b.add(b.pick([".add_", ".mul_", ".copy_"]), x, same)
    elif kind == 15:
        b.add(b.pick([
            "torch.utils.checkpoint.checkpoint(lambda v: v.sin() * v, {}, use_reentrant=False)",
            "torch.utils.checkpoint.checkpoint(lambda v: v.sin() * v, {}, use_reentrant=True)",
            "torch.autograd.functional.vjp(lambda v: v.sin() * v, {})",
            "torch.autograd.functional.jacobian(lambda v: v.sin() * v.sum(), {})",
            "torch.autograd.functional.hessian(lambda v: (v.sin() * v).sum(), {})",
            "torch.autograd.functional.hvp(lambda v: (v.sin() * v).sum(), {})",
            "torch.autograd.graph.get_gradient_edge({}).output_nr",
        ]), x)  # fmt: skip


def gradient(b: Builder) -> None:
    """autograd.grad with all its options, of what may be used or not."""
    output = b.tensor(lambda t: t.requires_grad and t.grad_fn is not None and t.numel() and t.is_floating_point())
    of = [ref for ref in b.refs(lambda t: t.requires_grad) if b.chance(0.4)] or b.refs(lambda t: t.requires_grad)[:1]
    if output is None or not of:
        return
    t = b.value(output)
    weight = Leaf(tuple(t.shape), str(t.dtype).removeprefix("torch."), 5)
    options = {"retain_graph": True} | some(b, create_graph=[True], allow_unused=[True, True], materialize_grads=[True])
    if b.chance(0.15) and not any(step.call == ".retain_grad" for step in b.steps):  # which would keep what cannot be used later
        options["is_grads_batched"] = True
        weight = Leaf((2, *t.shape), str(t.dtype).removeprefix("torch."), 5)
    b.add("torch.autograd.grad", output, of, weight, **options)
    if b.steps[-1].call == "torch.autograd.grad" and b.chance(0.6):
        b.add("{}[0]", Ref(b.steps[-1].number))


def program(b: Builder) -> None:
    kind = b.pick(["float64", "float64", "float32"])
    shape = b.pick([(3,), (2, 2), (), (1, 3), (2, 3)])
    for _ in range(b.random.randint(1, 3)):
        b.leaf(b.new(shape, kind, grad=b.chance(0.8), low=0.2, high=1.5))
    try:
        for _ in range(b.random.randint(4, 14)):
            some_step(b)
        b.backward()
    except EndError:
        pass
