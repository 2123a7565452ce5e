"""What becomes of functions and modules when they are traced."""

from __future__ import annotations

import math
from typing import Any

import pytest

import adjoint as ad
from adjoint import fx, nn
from adjoint.fx.proxy import GraphAppendingTracer, TraceError
from tests.fx.programs import expressions, modules


@fx.wrap
def kept(x, factor=2):
    return x * factor if float(x.sum()) > 0 else x


def helper(x):
    return x + 1


fx.wrap("helper")
fx.wrap("len")


def test_wrapped_functions_stay_single_calls():
    traced = fx.symbolic_trace(lambda x: helper(kept(x, factor=3)) + len(x))
    assert [node.name for node in traced.graph.nodes] == ["x", "kept", "helper", "len_1", "add", "output"]
    assert traced(ad.ones(2)).tolist() == [6.0, 6.0]
    assert kept(ad.ones(2)).tolist() == [2.0, 2.0] and len([1]) == 1
    with pytest.raises(NotImplementedError, match="wrap must be called at the top level of a module"):
        fx.wrap("abs")
    with pytest.raises(RuntimeError, match="Unsupported type for global function"):
        fx.wrap(3)


def test_functions_and_modules_of_a_tracer():
    def double(x):
        return x * 2 if bool(x.sum() > 0) else x

    globals()["double"] = double
    tracer = fx.Tracer(autowrap_functions=(double,))

    class Model(nn.Module):
        def forward(self, x):
            return globals()["double"](x) + math.sqrt(x.size(0))

    assert [node.name for node in tracer.trace(Model()).nodes] == ["x", "double", "size", "sqrt", "add", "output"]
    del globals()["double"]
    assert math.sqrt(4) == 2.0


def test_which_modules_are_leaves():
    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x):
            return self.fc(x).relu()

    class InnerKept(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return isinstance(m, Inner) or super().is_leaf_module(m, module_qualified_name)

    model = nn.Sequential(Inner(), nn.Tanh())
    assert [str(node.target) for node in fx.Tracer().trace(model).nodes] == ["input", "0.fc", "relu", "1", "output"]
    assert [str(node.target) for node in InnerKept().trace(model).nodes] == ["input", "0", "1", "output"]


def test_members_of_modules_are_as_before():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(ad.ones(2))
            self.register_buffer("buffer", ad.ones(2))
            self.fc = nn.Linear(2, 2)

        def forward(self, x):
            if x.shape[0]:
                return x
            raise AssertionError

    model = Model()
    before = dict(model.__dict__)
    with pytest.raises(TraceError, match="cannot be used as inputs to control flow"):
        fx.symbolic_trace(model)
    assert model.__dict__ == before and model(ad.ones(2)) is not None
    assert nn.Module.__getattr__.__code__.co_filename.endswith("module.py")
    assert nn.Module.__call__.__code__.co_filename.endswith("module.py")
    assert not ad.fx._symbolic_trace.is_fx_tracing()


def test_parameters_buffers_and_constants():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(ad.ones(2))
            self.register_buffer("buffer", ad.ones(2))
            self.plain = ad.ones(2)

        def forward(self, x):
            return (x * self.weight + self.buffer) * self.plain + ad.full((2,), 3.0) + self.weight

    class Proxied(fx.Tracer):
        proxy_buffer_attributes = True

    model = Model()
    targets = [node.target for node in fx.Tracer().trace(model).nodes if node.op == "get_attr"]
    assert targets == ["weight", "buffer", "plain", "_tensor_constant0"]
    assert [node.target for node in Proxied().trace(model).nodes if node.op == "get_attr"][:2] == ["weight", "buffer"]
    traced = fx.symbolic_trace(model)
    assert traced(ad.ones(2)).tolist() == [6.0, 6.0]
    assert dict(traced.named_parameters()).keys() == {"weight"} and traced.weight is model.weight
    assert dict(traced.named_buffers()).keys() >= {"buffer", "plain", "_tensor_constant0"} - {"_tensor_constant0"}


def test_shapes_of_parameters_can_be_constants():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(ad.ones(3, 2))

        def forward(self, x):
            w = self.weight
            if (w.shape[0], w.size(1), w.dim(), w.ndim, w.numel(), w.nelement()) != (3, 2, 2, 2, 6, 6):
                raise ValueError
            return x @ w

    graph = fx.Tracer(param_shapes_constant=True).trace(Model())
    assert [node.name for node in graph.nodes] == ["x", "weight", "matmul", "output"]


def test_asserts_and_changes():
    class Asserting(fx.Tracer):
        trace_asserts = True

    scope: dict[str, Any] = {}
    exec("def f(x):\n    assert x.shape[0] == 2\n    return x", scope)  # pytest rewrites the assertions of this file
    names = [node.name for node in Asserting().trace(scope["f"]).nodes]
    assert names == ["x", "getattr_1", "getitem", "eq", "assert_fn", "output"]
    tracer = fx.Tracer()
    tracer.check_mutable_operations = True
    with pytest.raises(RuntimeError, match=r"Tried to trace mutable operation torch\.relu_"):
        tracer.trace(lambda x: ad.relu_(x))


def test_a_tracer_may_know_how_to_loop_and_branch():
    class Knowing(fx.Tracer):
        def iter(self, obj):
            return (obj[place] for place in range(2))

        def to_bool(self, obj):
            return True

    graph = Knowing().trace(lambda x: sum(row for row in x) if x.any() else x)
    assert [node.name for node in graph.nodes] == ["x", "any_1", "getitem", "add", "getitem_1", "add_1", "output"]


def test_lines_of_the_program_are_recorded():
    tracer = fx.Tracer()
    tracer.record_stack_traces = True

    def f(x):
        return ad.exp(x)

    traces = [node.stack_trace for node in tracer.trace(f).nodes]
    assert traces[0] is None and traces[2] is None
    assert traces[1] is not None and traces[1].endswith("in f\n    return ad.exp(x)") and __file__ in traces[1]


def test_proxies_of_a_graph_by_hand():
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"), GraphAppendingTracer(graph))
    y = fx.Proxy(graph.placeholder("y"), x.tracer)
    z = ad.einsum("ij,jk->ik", x, y).reshape(-1) + ad.ones(1).item()
    graph.output(z.node)
    f = fx.GraphModule({}, graph)
    assert f(ad.ones(2, 2), ad.ones(2, 2)).tolist() == [3.0] * 4
    other = fx.Proxy(fx.Graph().placeholder("x"))
    with pytest.raises(RuntimeError, match="Found multiple different tracers"):
        ad.add(x, other)


def test_classes_whose_objects_are_made_of_proxies():
    class Pair(metaclass=fx.ProxyableClassMeta):
        def __init__(self, left, right):
            self.left, self.right = left, right

        def total(self):
            return self.left + self.right

    globals()["Pair"] = Pair
    traced = fx.symbolic_trace(lambda x: Pair(x, x * 2).total())
    assert traced(ad.ones(1)).tolist() == [3.0]
    assert Pair(1, 2).total() == 3
    del globals()["Pair"]


def test_ordinary_calls_are_as_before():
    x = ad.tensor([[1.0, -2.0]], requires_grad=True)
    fx.symbolic_trace(lambda x: ad.cat([x, x], dim=1).exp() + ad.softmax(x, dim=-1))
    assert ad.cat([x, x], dim=1).tolist() == [[1.0, -2.0, 1.0, -2.0]]
    (ad.exp(x) * ad.relu(x)).sum().backward()
    assert x.grad is not None
    assert ad.cat.__code__.co_filename != ad._overriding.__file__


@pytest.mark.parametrize("name", expressions(ad))
def test_a_traced_function_computes_what_the_function_does(name):
    function = expressions(ad)[name]
    ad.manual_seed(0)
    args = (ad.rand(2, 3) - 0.5, ad.rand(2, 3) - 0.5)[: 1 if name == "keywords" else 2]
    assert repr(fx.symbolic_trace(function)(*args)) == repr(function(*args))


@pytest.mark.parametrize("name", modules(ad))
def test_a_traced_module_computes_what_the_module_does(name):
    module, x = modules(ad)[name]
    module.eval()
    traced = fx.symbolic_trace(module)
    assert repr(traced(x)) == repr(module(x)) == repr(fx.Interpreter(traced).run(x))
    assert dict(traced.named_parameters()).keys() == dict(module.named_parameters()).keys()


def flagged(x, flag, d, n):
    return {"r": x + 1} if flag else {"r": x * 2 + d["a"], "s": [d["b"]]}


def test_concrete_arguments_are_checked_and_nested_ones_taken_apart():
    traced = fx.symbolic_trace(flagged, concrete_args={"flag": False, "d": {"a": fx.PH, "b": fx.PH}, "n": None})
    given = (1, False, {"b": 7, "a": 5}, None)
    assert traced(*given) == {"r": 7, "s": [7]}
    assert fx.Interpreter(traced).run(1, False, {"a": 5, "b": 7}, None) == {"r": 7, "s": [7]}
    with pytest.raises(AssertionError, match="flag has been specialized to have value False but got another value"):
        traced(1, True, {"a": 5, "b": 7}, None)
    with pytest.raises(AssertionError, match="n has been specialized to have value None but got another value"):
        traced(1, False, {"a": 5, "b": 7}, 3)
    with pytest.raises(RuntimeError, match="Tracing expected 4 arguments but got 2 concrete arguments"):
        fx.symbolic_trace(flagged, concrete_args=(fx.PH, True))


def test_nested_arguments_of_other_classes():
    from adjoint.fx._pytree import register_pytree_flatten_spec, tree_flatten_spec
    from adjoint.utils._pytree import tree_structure

    spec = tree_structure([1, (2, {"a": 3})])
    assert tree_flatten_spec([4, (5, {"a": 6})], spec) == [4, 5, 6]
    with pytest.raises(RuntimeError, match="does not have a flatten_fn_spec associated with it"):
        tree_flatten_spec([4, 5], spec)
    register_pytree_flatten_spec(tuple, lambda value, spec: [value, {"a": value}])
    try:
        assert tree_flatten_spec([4, 5], spec) == [4, 5, 5]
    finally:
        fx._pytree.SUPPORTED_NODES.clear()


def test_names_around_the_compiler():
    from adjoint.fx.experimental import proxy_tensor, symbolic_shapes

    assert proxy_tensor.get_proxy_mode() is None
    with pytest.raises(NotImplementedError, match=r"torch\.fx\.symbolic_trace\(f\) makes a graph of the function itself"):
        proxy_tensor.make_fx(lambda x: x)
    with pytest.raises(NotImplementedError, match="sizes are numbers here"):
        symbolic_shapes.ShapeEnv()
    x = ad.ones(2, 3)
    for ask in (symbolic_shapes.guard_or_false, symbolic_shapes.guard_or_true, symbolic_shapes.statically_known_true):
        assert ask(x.shape[0] == 2) is True and ask(x.shape[0] == 3) is False
    assert symbolic_shapes.free_symbols(x.shape) == set() and not symbolic_shapes.is_symbolic(x.shape[0])


def test_what_is_written_into_nodes_while_they_are_made():
    from adjoint.fx import traceback as fx_traceback

    tracer = fx.Tracer()
    with fx_traceback.preserve_node_meta(), fx_traceback.annotate({"stage": 1}):
        graph = tracer.trace(lambda x: ad.exp(x))
    assert [node.meta["custom"] for node in graph.nodes if node.op == "call_function"] == [{"stage": 1}]
    assert not fx_traceback.has_preserved_node_meta() and fx_traceback.get_current_meta() == {}


def test_tracers_may_take_fewer_arguments():
    class Older(fx.Tracer):
        def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None):  # type: ignore[override]
            return super().create_proxy(kind, target, args, kwargs, name, type_expr)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(ad.ones(2))

        def forward(self, x):
            return x * self.weight

    assert [node.name for node in Older().trace(Model()).nodes] == ["x", "weight", "mul", "output"]
