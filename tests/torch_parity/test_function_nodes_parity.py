"""The nodes and classes of custom functions, the modes they run in and the passes they start, as in PyTorch."""

from __future__ import annotations

import gc
import weakref

import pytest

import adjoint
from tests.torch_parity.custom_functions import function, gradients, identity_backward, leaf, returning_input, saving
from tests.torch_parity.facts import Facts, outcome, raised

torch = pytest.importorskip("torch")
fact = Facts()


# ---- differentiating twice ----


@fact
def double_backward(T):
    x = leaf(T)
    (first,) = T.autograd.grad(saving(T).apply(x).sum(), x, create_graph=True)
    return first, T.autograd.grad(first.sum(), x)


def once(T):
    @T.autograd.function.once_differentiable
    def backward(ctx, g):
        return g * 2, None

    return function(T, lambda ctx, x, n: x * 2, backward)


@fact
def once_differentiable_first(T):
    x = leaf(T)
    out = once(T).apply(x, 2)
    return gradients(out, x)


@fact
def once_differentiable_twice(T):
    x = leaf(T)
    out = once(T).apply(x, 2)
    (first,) = T.autograd.grad((out * out).sum(), x, create_graph=True)
    return first.requires_grad, raised(lambda: first.sum().backward())


@fact
def once_differentiable_with_a_constant_gradient(T):
    x = leaf(T)
    out = once(T).apply(x, 2)
    (first,) = T.autograd.grad(out.sum(), x, create_graph=True)
    return first.requires_grad, type(first.grad_fn).__name__


@fact
def once_differentiable_records_nothing(T):
    seen = []

    @T.autograd.function.once_differentiable
    def backward(ctx, g):
        seen.append(T.is_grad_enabled())
        return g

    x = leaf(T)
    T.autograd.grad(function(T, lambda ctx, x: x * 2, backward).apply(x).sum(), x, create_graph=True)
    return seen


@fact
def backward_records_only_under_create_graph(T):
    seen = []

    def backward(ctx, g):
        seen.append((T.is_grad_enabled(), g.requires_grad))
        return g

    x = leaf(T)
    out = function(T, lambda ctx, x: x * 2, backward).apply(x).sum()
    out.backward(retain_graph=True)
    out.backward(create_graph=True)
    return seen


# ---- nodes ----


@fact
def names(T):
    out = saving(T).apply(leaf(T))
    node = out.grad_fn
    return node.name(), type(node).__name__, isinstance(node, T.autograd.graph.Node), repr(out).split("grad_fn=")[1]


@fact
def name_of_the_class_of_the_context(T):
    seen = []

    def forward(ctx, x):
        seen.append((type(ctx).__name__, ctx.name()))
        return x * 2

    out = function(T, forward, identity_backward).apply(leaf(T))
    return seen, type(out.grad_fn).__mro__[1].__name__, issubclass(type(out.grad_fn), T.autograd.function.FunctionCtx)


@fact
def context_is_the_node(T):
    contexts = []

    def forward(ctx, x):
        ctx.mine = 3
        contexts.append(weakref.ref(ctx))
        return x * 2

    out = function(T, forward, identity_backward).apply(leaf(T))
    out.grad_fn.other = 4
    return out.grad_fn.mine, out.grad_fn.other, sorted(k for k in vars(out.grad_fn) if not k.startswith("_"))


@fact
def context_in_backward_is_the_node(T):
    seen = []

    def backward(ctx, g):
        seen.append((ctx is node, ctx.later))
        return g

    out = function(T, lambda ctx, x: x * 2, backward).apply(leaf(T))
    node = out.grad_fn
    node.later = 5
    out.sum().backward()
    return seen


@fact
def hooks_of_the_node(T):
    calls = []
    x = leaf(T)
    out = saving(T).apply(x)
    out.grad_fn.register_hook(lambda inputs, outputs: calls.append(("post", inputs, outputs)))
    out.grad_fn.register_prehook(lambda outputs: calls.append(("pre", outputs)))
    out.sum().backward()
    return calls


@fact
def hooks_of_the_node_change_gradients(T):
    x = leaf(T)
    out = function(T, lambda ctx, x, n, y: x * 2, lambda ctx, g: (g, None, None)).apply(x, 3, T.ones(2))
    seen = []
    out.grad_fn.register_hook(lambda inputs, outputs: seen.append(len(inputs)))
    out.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 5, *inputs[1:]))
    out.grad_fn.register_prehook(lambda outputs: (outputs[0] * 7,))
    return gradients(out, x), seen


@fact
def next_functions(T):
    x, y = leaf(T), leaf(T)
    out = function(T, lambda ctx, a, n, b, c: a * b, lambda ctx, g: (g, None, g, None)).apply(x * 2, 3, y, T.ones(2))
    return [(type(node).__name__ if node is not None else None, nr) for node, nr in out.grad_fn.next_functions]


@fact
def metadata(T):
    node = saving(T).apply(leaf(T)).grad_fn
    node.metadata["a"] = 1
    return node.metadata


@fact
def graph_is_freed_with_its_output(T):
    held = []

    class Held:
        pass

    def forward(ctx, x):
        ctx.held = Held()
        held.append(weakref.ref(ctx.held))
        return x * 2

    out = function(T, forward, identity_backward).apply(leaf(T))
    alive = held[0]() is not None
    del out
    return alive, held[0]() is None


@fact
def setting_requires_grad_of_an_output(T):
    out = saving(T).apply(leaf(T))
    return raised(lambda: out.requires_grad_(False))


# ---- exceptions ----


@fact
def exception_in_forward(T):
    def forward(ctx, x):
        raise ValueError("from forward")

    x = leaf(T)
    first = raised(lambda: function(T, forward, identity_backward).apply(x))
    return first, T.is_grad_enabled(), gradients(saving(T).apply(x), x)


@fact
def exception_in_backward(T):
    fail = [True]

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, g):
        assert len(ctx.saved_tensors) == 1
        if fail:
            fail.clear()
            raise ValueError("from backward")
        return g * 2

    x = leaf(T)
    out = function(T, forward, backward).apply(x)
    first = raised(lambda: out.sum().backward())
    return first, T.is_grad_enabled(), x.grad, gradients(out, x)


@fact
def exception_in_setup_context(T):
    def setup_context(ctx, inputs, output):
        raise ValueError("from setup")

    x = leaf(T)
    f = function(T, lambda x: x * 2, identity_backward, setup_context=setup_context)
    return raised(lambda: f.apply(x)), T.is_grad_enabled()


# ---- modes ----


@fact
def under_no_grad(T):
    seen = []

    def forward(ctx, x):
        seen.append((ctx.needs_input_grad, T.is_grad_enabled()))
        return x * 2

    with T.no_grad():
        out = function(T, forward, identity_backward).apply(leaf(T))
    return out, seen


@fact
def under_no_grad_returning_its_input(T):
    x = leaf(T)
    with T.no_grad():
        out = function(T, lambda ctx, x: x, identity_backward).apply(x)
    return out is x, out, out._is_view(), raised(lambda: out.mul_(2))


@fact
def under_no_grad_with_a_dirty_leaf(T):
    x = leaf(T)
    with T.no_grad():
        out = returning_input(T, True, True).apply(x)
    return out is x, out, x._version


@fact
def under_inference_mode(T):
    x = leaf(T)
    with T.inference_mode():
        out = function(T, lambda ctx, x: x * 2, identity_backward).apply(x)
    return out.is_inference(), out.requires_grad


@fact
def grad_mode_inside(T):
    seen = []

    def forward(ctx, x):
        seen.append(T.is_grad_enabled())
        with T.enable_grad():
            y = x.detach().requires_grad_()
            (g,) = T.autograd.grad((y * y).sum(), y)
        ctx.save_for_backward(g)
        return y.detach() * 1

    x = leaf(T)
    out = function(T, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
    return seen, gradients(out, x)


@fact
def in_place_on_an_intermediate(T):
    def forward(ctx, x):
        y = x.clone()
        y.mul_(3)
        return y

    x = leaf(T)
    out = function(T, forward, lambda ctx, g: g * 3).apply(x)
    return out, out._version, gradients(out, x)


@fact
def in_place_after(T):
    x = leaf(T)
    out = saving(T).apply(x)
    out.mul_(2)
    return gradients(out, x), type(out.grad_fn).__name__


# ---- the class ----


@fact
def instances(T):
    return saving(T)()


@fact
def instances_can_be_called(T):
    f = raised(saving(T))
    return f if isinstance(f, tuple) else raised(lambda: f(leaf(T)))


@fact
def legacy_functions(T):
    class Old(T.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, g):
            return g * 2

    return raised(Old), raised(lambda: Old()(leaf(T)))


@fact
def methods_need_not_be_static(T):
    class Old(T.autograd.Function):
        def forward(ctx, x):
            return x * 2

        def backward(ctx, g):
            return g * 2

    x = leaf(T)
    return gradients(Old.apply(x), x)


@fact
def class_attributes(T):
    F = T.autograd.Function
    return F.generate_vmap_rule, [hasattr(F, n) for n in ("vmap", "jvp", "vjp", "backward", "forward", "setup_context", "apply")]


@fact
def methods_of_the_base_class(T):
    F = T.autograd.Function
    return [
        raised(lambda: F.forward(None)), raised(lambda: F.backward(None)), raised(lambda: F.jvp(None)),
        raised(lambda: F.setup_context(None, (), None)), raised(lambda: F.vmap(None, (), 1)),
    ]  # fmt: skip


@fact
def vmap_members_are_kept(T):
    f = function(T, lambda x: x, vmap=lambda info, dims, x: (x, 0))
    f.generate_vmap_rule = True
    return f.generate_vmap_rule, f.vmap(None, (0,), 3)


@fact
def names_in_the_module(T):
    module = T.autograd.function
    names = "Function FunctionCtx FunctionMeta InplaceFunction NestedIOFunction BackwardCFunction once_differentiable traceable".split()
    return [hasattr(module, name) for name in names]


@fact
def metaclass(T):
    return type(T.autograd.Function).__name__, isinstance(saving(T), T.autograd.function.FunctionMeta)


@fact
def subclass_of_a_subclass(T):
    base = saving(T)
    sub = type("Sub", (base,), {"backward": staticmethod(lambda ctx, g: g * 100)})
    x = leaf(T)
    out = sub.apply(x)
    return out.grad_fn.name(), gradients(out, x)


@fact
def inplace_function(T):
    class F(T.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(T)
    return gradients(F.apply(x), x), raised(lambda: F(inplace=True))


@fact
def nested_io_function(T):
    class F(T.autograd.function.NestedIOFunction):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    return raised(lambda: F.apply(leaf(T)))


@fact
def apply_of_the_base_class(T):
    return raised(lambda: T.autograd.Function.apply(leaf(T)))


@fact
def parameters_and_subclasses(T):
    x = T.nn.Parameter(T.ones(2))
    out = function(T, lambda ctx, x: x, lambda ctx, g: g).apply(x)
    return type(out).__name__, out._is_view()


# ---- re-entrant backward ----


@fact
def backward_inside_backward(T):
    def forward(ctx, x):
        with T.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = ctx.x * ctx.x
        return ctx.y.detach()

    def backward(ctx, g):
        with T.enable_grad():
            ctx.y.backward(g)
        return ctx.x.grad

    x = leaf(T)
    return gradients(function(T, forward, backward).apply(x), x)


@fact
def backward_inside_a_hook(T):
    x, other = leaf(T), leaf(T)

    def hook(g):
        with T.enable_grad():
            (other * 2).sum().backward()

    y = x * 2
    y.register_hook(hook)
    y.sum().backward()
    return x.grad, other.grad


@fact
def backward_inside_backward_of_the_same_function(T):
    depth = []

    class Deep(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.n = n
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            depth.append(ctx.n)
            if ctx.n:
                with T.enable_grad():
                    y = ctx.saved_tensors[0].detach().requires_grad_()
                    Deep.apply(y, ctx.n - 1).sum().backward()
                return y.grad * g, None
            return g * 2, None

    x = leaf(T)
    return gradients(Deep.apply(x, 20), x), gradients(Deep.apply(x, 700), x), len(depth)


@fact
def exception_inside_inner_backward(T):
    def backward(ctx, g):
        with T.enable_grad():
            y = leaf(T)
            return function(T, lambda ctx, x: x * 2, lambda ctx, g: 1 / 0).apply(y).sum().backward()

    x = leaf(T)
    out = function(T, lambda ctx, x: x * 2, backward).apply(x)
    return raised(lambda: out.sum().backward()), T.is_grad_enabled(), T._C._current_graph_task_id() if T is torch else -1


@fact
def cycles_are_collected(T):
    refs = []

    def forward(ctx, x):
        out = x * 2
        ctx.out = out
        refs.append(weakref.ref(ctx.out))
        return out

    function(T, forward, identity_backward).apply(leaf(T))
    gc.collect()
    return refs[0]() is None


@pytest.mark.parametrize("name", fact)
def test_fact(name):
    assert outcome(fact[name], adjoint) == outcome(fact[name], torch)
