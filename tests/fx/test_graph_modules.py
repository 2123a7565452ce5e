"""Modules made from graphs: their code, copies, files, submodules and errors; interpreters, passes and rewriting."""

from __future__ import annotations

import copy
import importlib.util
import io
import pickle
import sys
import traceback

import pytest

import adjoint as ad
from adjoint import fx, nn
from adjoint.fx.passes.infra.pass_base import PassBase, PassResult
from adjoint.fx.passes.shape_prop import ShapeProp
from adjoint.fx.passes.split_module import split_module
from adjoint.fx.subgraph_rewriter import replace_pattern_with_filters


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.scale = nn.Parameter(ad.full((4,), 2.0))
        self.register_buffer("shift", ad.ones(4), persistent=False)
        self.unused = nn.Linear(1, 1)

    def forward(self, x):
        return self.features(x) * self.scale + self.shift


def test_parts_are_taken_over():
    model = Model().eval()
    traced = fx.symbolic_trace(model)
    assert type(traced).__name__ == "Model" and isinstance(traced, fx.GraphModule) and isinstance(traced, nn.Module)
    assert traced.scale is model.scale and getattr(traced.features, "0") is model.features[0]
    assert not hasattr(traced, "unused") and not traced.training and traced.train().training
    assert "shift" in dict(traced.named_buffers()) and "shift" not in traced.state_dict()


def test_roots_by_path():
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(ad.add, (graph.call_module("a.b", (x,)), graph.get_attr("a.c"))))
    made = fx.GraphModule({"a.b": nn.ReLU(), "a.c": ad.ones(1)}, graph)
    assert made(ad.tensor([-1.0])).tolist() == [1.0]
    with pytest.raises(RuntimeError, match=r"referenced target a\.c but that target was not provided in ``root``!"):
        fx.GraphModule({"a.b": nn.ReLU()}, graph)
    with pytest.raises(RuntimeError, match="Unsupported type 3 passed for root!"):
        fx.GraphModule(3, graph)


def test_code_follows_the_graph_when_told():
    traced = fx.symbolic_trace(lambda x: ad.relu(x))
    (node,) = traced.graph.find_nodes(op="call_function")
    node.target = ad.tanh
    assert traced(ad.tensor([-1.0])).item() == 0
    traced.recompile()
    assert "torch.tanh(x)" in traced.code and traced(ad.tensor([-1.0])).item() < 0
    traced.graph = fx.symbolic_trace(lambda x: x + 1).graph
    assert traced(1) == 2


def copies(traced):
    yield copy.deepcopy(traced)
    yield copy.copy(traced)
    yield pickle.loads(pickle.dumps(traced))
    file = io.BytesIO()
    ad.save(traced, file)
    file.seek(0)
    yield ad.load(file, weights_only=False)


def test_copies_and_files():
    traced = fx.symbolic_trace(Model())
    traced.note = "kept"
    x = ad.rand(2, 3)
    for twin in copies(traced):
        assert isinstance(twin, fx.GraphModule) and twin.code == traced.code and str(twin.graph) == str(traced.graph)
        assert ad.equal(twin(x), traced(x))
        assert twin.graph is not traced.graph or twin.forward.__func__ is not traced.forward.__func__
    deep = copy.deepcopy(traced)
    assert deep.note == "kept" and deep.scale is not traced.scale
    with ad.no_grad():
        deep.scale.zero_()
    assert traced.scale.sum() == 8


def test_hooks_are_copied():
    traced = fx.symbolic_trace(Model())
    traced.register_forward_hook(lambda module, args, result: result * 0)
    assert copy.deepcopy(traced)(ad.rand(2, 3)).abs().sum() == 0


def test_a_folder_with_the_module(tmp_path, monkeypatch):
    traced = fx.symbolic_trace(Model())
    traced.to_folder(tmp_path / "exported", "Exported")
    monkeypatch.setitem(sys.modules, "torch", ad)
    for name in ("fx", "fx._pytree", "utils", "utils._pytree", "nn"):
        monkeypatch.setitem(sys.modules, f"torch.{name}", importlib.import_module(f"adjoint.{name}"))
    spec = importlib.util.spec_from_file_location("exported", tmp_path / "exported" / "module.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x = ad.rand(2, 3)
    assert ad.equal(module.Exported()(x), traced(x))


def test_submodules_come_and_go():
    traced = fx.symbolic_trace(Model())
    assert traced.add_submodule("extra.inner", nn.Tanh()) and isinstance(traced.extra.inner, nn.Tanh)
    assert not traced.add_submodule("scale.inner", nn.Tanh())
    assert traced.delete_submodule("extra.inner") and not traced.delete_submodule("extra.inner")
    traced.add_submodule("other", nn.Linear(1, 1))
    traced.delete_all_unused_submodules()
    assert [name for name, _ in traced.named_modules()] == ["", "features", "features.0", "features.1"]


def test_errors_show_the_line_of_the_code():
    traced = fx.symbolic_trace(Model())
    with pytest.raises(RuntimeError) as caught:
        traced(ad.ones(2, 5))
    lines = "".join(traceback.format_exception(caught.value))
    assert 'features_0 = getattr(self.features, "0")(x);  x = None' in lines and "<eval_with_key>" in lines


def test_printed_with_shapes():
    traced = fx.symbolic_trace(Model())
    ShapeProp(traced).propagate(ad.ones(2, 3))
    text = traced.print_readable(print_output=False)
    assert text.startswith('class Model(torch.nn.Module):\n    def forward(self, x: "f32[2, 3]"):')
    assert 'features_0: "f32[2, 4]" = getattr(self.features, "0")(x);  x = None' in text
    assert '"f32[2, 4][4, 1]"' in traced.print_readable(print_output=False, include_stride=True)
    assert str(traced).startswith("Model(\n") and "print_readable()" in str(traced)
    (node,) = traced.graph.find_nodes(op="get_attr", target="scale")
    meta = node.meta["tensor_meta"]
    assert meta.shape == (4,) and meta.dtype is ad.float32 and meta.requires_grad and meta.memory_format is ad.contiguous_format


def test_an_interpreter_frees_values_and_says_where_it_failed():
    traced = fx.symbolic_trace(lambda x, y=3: ad.relu(x) + y)
    interpreter = fx.Interpreter(traced)
    assert interpreter.run(ad.ones(1)).item() == 4
    assert [str(node) for node in interpreter.env] == ["add", "output"]
    assert len(kept := fx.Interpreter(traced, garbage_collect_values=False).run(ad.ones(1), 4)) == 1 and kept.item() == 5
    (relu,) = traced.graph.find_nodes(op="call_function", target=ad.relu)
    assert interpreter.run(initial_env={relu: 1, traced.graph.find_nodes(op="placeholder")[0]: None}) == 4
    assert interpreter.boxed_run(values := [ad.ones(1), 1]).item() == 2 and values == []
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter x, but one was not passed in!"):
        interpreter.run()
    with pytest.raises(RuntimeError, match=r"While executing %add : \[num_users=1\] = call_function\[target=operator.add\]"):
        interpreter.run(ad.ones(2), ad.ones(3))


def test_a_transformer_keeps_what_is_known_of_nodes():
    traced = fx.symbolic_trace(Model())
    for node in traced.graph.nodes:
        node.meta["mine"] = node.name
    made = fx.Transformer(traced).transform()
    assert made.code == traced.code
    assert all(node.meta.get("mine") == node.name for node in made.graph.nodes if node.op.startswith("call"))


def test_filters_and_literals():
    def traced():
        return fx.symbolic_trace(lambda x: (ad.relu(x) + 2) * (ad.relu(x) + 3))

    def pattern(x):
        return ad.relu(x) + 1

    assert replace_pattern_with_filters(traced(), pattern, ad.nn.functional.silu) == []
    found = replace_pattern_with_filters(
        module := traced(),
        pattern,
        lambda x: ad.tanh(x),
        [lambda match, graph, p: match.returning_nodes[0].args[1] == 3],
        ignore_literals=True,
    )
    assert [[str(node) for node in each.replacements] for each in found] == [["tanh"]] and module.code.count("tanh(") == 1


def test_a_replacement_brings_its_modules():
    class Other(nn.Module):
        def __init__(self):
            super().__init__()
            self.fresh = nn.Linear(4, 4)

        def forward(self, x):
            return self.fresh(x)

    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(3, 4), nn.ReLU()))

    class Pattern(nn.Module):
        def forward(self, x):
            return getattr(self, "1")(x)

    pattern = Pattern()
    pattern.add_module("1", nn.ReLU())
    assert len(fx.replace_pattern(traced, pattern, Other())) == 1
    assert [name for name, _ in traced.named_children()] == ["0", "fresh"] and traced(ad.ones(2, 3)).shape == (2, 4)


def test_parts_keep_names_and_order():
    traced = fx.symbolic_trace(lambda x: (ad.exp(x), ad.sin(ad.exp(x)) + 1))
    parts = split_module(traced, traced, lambda node: node.name, keep_original_order=True, keep_original_node_name=True)
    assert [name for name, _ in parts.named_children()] == ["submod_exp", "submod_exp_1", "submod_sin", "submod_add"]
    assert "exp_1 = torch.exp(x)" in parts.submod_exp_1.code
    assert repr(parts(ad.ones(2))) == repr(traced(ad.ones(2)))
    with pytest.raises(RuntimeError, match="cycle exists between partitions!"):
        split_module(fx.symbolic_trace(lambda x: ad.exp(ad.sin(ad.exp(x)))), traced, lambda node: node.target is ad.sin)


def test_a_pass():
    class Nothing(PassBase):
        def call(self, graph_module):
            return PassResult(graph_module, False)

    traced = fx.symbolic_trace(lambda x: x)
    assert Nothing()(traced) == (traced, False)


def test_arguments_by_name():
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(3, 4)))
    (call,) = traced.graph.find_nodes(op="call_module")
    assert call.normalized_arguments(traced, normalize_to_only_use_kwargs=True).kwargs == {"input": call.args[0]}
    traced = fx.symbolic_trace(lambda x: ad.cumsum(x, 1))
    (call,) = traced.graph.find_nodes(op="call_function")
    found = call.normalized_arguments(traced, normalize_to_only_use_kwargs=True).kwargs
    assert found["dim"] == 1 and found["input"] is call.args[0]
