"""Graphs and nodes: made by hand, changed, checked, printed."""

from __future__ import annotations

import operator

import pytest

import adjoint as ad
from adjoint import fx
from adjoint.fx.immutable_collections import immutable_dict, immutable_list


def chain() -> tuple[fx.Graph, list[fx.Node]]:
    graph = fx.Graph()
    x = graph.placeholder("x")
    a = graph.call_function(ad.relu, (x,))
    b = graph.call_method("add", (a, 1))
    out = graph.output([b, {"a": a}])
    return graph, [x, a, b, out]


def test_users_follow_the_arguments():
    _, (x, a, b, out) = chain()
    assert list(a.users) == [b, out] and b.all_input_nodes == [a] and out.all_input_nodes == [b, a]
    b.args = (x, x)
    assert list(a.users) == [out] and list(x.users) == [a, b]
    b.kwargs = {"other": [a, (x, slice(a, None))]}
    assert b.kwargs == {"other": [a, (x, slice(a, None))]} and b in a.users
    b.update_kwarg("alpha", 2)
    b.kwargs = {}
    b.update_arg(1, 3)
    b.insert_arg(1, a)
    assert list(b.args) == [x, a, 3]
    b.replace_input_with(a, x)
    assert list(b.args) == [x, x, 3] and b not in a.users


def test_uses_are_replaced_where_wanted():
    graph, (_, a, b, out) = chain()
    with graph.inserting_after(a):
        c = graph.call_function(ad.tanh, (a,))
    assert [node.name for node in graph.nodes] == ["x", "relu", "tanh", "add", "output"]
    assert a.replace_all_uses_with(c, lambda user: user is not c) == [b, out]
    assert c.args == (a,) and b.args == (c, 1)
    graph.lint()
    with pytest.raises(RuntimeError, match="Tried to erase Node tanh but it still had 2 users in the graph"):
        graph.erase_node(c)


def test_nodes_are_inserted_moved_and_erased_while_the_graph_is_walked_over():
    graph, _ = chain()
    for node in graph.nodes:
        if node.op == "call_function":
            with graph.inserting_before(node):
                made = graph.call_function(ad.exp, node.args)
            node.args = (made,)
    with graph.inserting_before():
        y = graph.placeholder("y")
    assert [str(node) for node in graph.nodes] == ["y", "x", "exp", "relu", "add", "output"]
    assert [str(node) for node in reversed(graph.nodes)] == ["output", "add", "relu", "exp", "x", "y"]
    assert len(graph.nodes) == 6 and y.next.name == "x" and y < graph.output_node() and graph.output_node() >= y
    y.next.append(y)
    assert [str(node) for node in graph.nodes][:2] == ["x", "y"]
    for node in graph.nodes:
        if node is y:
            graph.erase_node(y)
    assert [str(node) for node in graph.nodes] == ["x", "exp", "relu", "add", "output"]


def test_arguments_cannot_be_changed_in_place():
    out = chain()[1][-1]
    assert isinstance(out.args[0], immutable_list) and isinstance(out.args[0][1], immutable_dict)
    for change in (lambda: out.args[0].append(1), lambda: out.args[0][1].update(a=1), lambda: out.args[0].__setitem__(0, 1)):
        with pytest.raises(TypeError, match=r"object does not support mutation\. If you are attempting to modify the kwargs or args"):
            change()


def test_dead_code_goes_and_what_has_effects_stays():
    graph = fx.Graph()
    x = graph.placeholder("x")
    unused = graph.placeholder("unused")
    a = graph.call_function(ad.exp, (x,))
    graph.call_function(ad.exp, (a,))
    graph.call_function(ad._assert, (x, "text"))
    graph.call_function(operator.setitem, (x, 0, 1))

    @fx.has_side_effect
    def logged(x):
        pass

    graph.call_function(logged, (x,))
    graph.output(x)
    assert graph.eliminate_dead_code()
    assert [node.name for node in graph.nodes] == ["x", "unused", "_assert", "setitem", "logged", "output"]
    assert not graph.eliminate_dead_code()
    assert unused.is_impure()


def test_lint_says_what_is_wrong():
    graph, (_, a, b, _) = chain()
    graph.lint()
    b.append(a)
    with pytest.raises(RuntimeError, match="Argument 'relu' of Node 'add' was used before it has been defined!"):
        graph.lint()
    y = chain()[1][0]
    graph, (_, a, *_) = chain()
    a.args = (y,)
    with pytest.raises(RuntimeError, match="Argument 'x' of Node 'relu' does not belong to this Graph"):
        graph.lint()
    graph, _ = chain()
    graph.owning_module = ad.nn.Module()
    with pytest.warns(UserWarning, match="Attempted to insert a get_attr Node with no underlying reference"):
        graph.get_attr("missing.weight")
    with pytest.raises(RuntimeError, match=r"target missing\.weight references nonexistent attribute weight of missing"):
        graph.lint()
    with pytest.raises(AttributeError):
        graph.call_module("missing")


def test_wrong_nodes_are_refused():
    graph = fx.Graph()
    with pytest.raises(AssertionError, match="op 'call' is not in _legal_ops"):
        graph.create_node("call", "x")
    with pytest.raises(ValueError, match="target relu has type str but a Callable is expected"):
        graph.call_function("relu")
    with pytest.raises(ValueError, match="but a str is expected"):
        graph.call_method(abs)
    with pytest.raises(AssertionError, match="different Graph"):
        graph.placeholder("x").append(fx.Graph().placeholder("y"))


def test_a_copy_has_nodes_of_its_own():
    import copy

    graph, (x, _, b, _) = chain()
    b.meta["note"] = 1
    twin = copy.deepcopy(graph)
    assert str(twin) == str(graph)
    assert not set(twin.nodes) & set(graph.nodes)
    assert [node.meta for node in twin.nodes] == [node.meta for node in graph.nodes]
    larger = fx.Graph()
    y = larger.placeholder("y")
    result = larger.graph_copy(graph, {x: y})
    larger.output(result[0])
    assert [node.name for node in larger.nodes] == ["y", "relu", "add", "output"]
    larger.lint()


def test_nodes_are_found_by_kind_and_target():
    graph, (x, a, _, out) = chain()
    assert graph.find_nodes(op="placeholder") == [x]
    assert graph.find_nodes(op="call_function", target=ad.relu) == [a]
    assert graph.find_nodes(op="call_function", target=ad.exp) == []
    assert graph.output_node() is out


def test_the_table(capsys):
    chain()[0].print_tabular()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["opcode", "name", "target", "args", "kwargs"]
    assert lines[1] == "  ".join("-" * len(part) for part in lines[1].split())
    assert lines[2].split() == ["placeholder", "x", "x", "()", "{}"]
    assert lines[4] == "call_method    add     add" + lines[4][26:]
    assert len(lines) == 6


def test_code_generation_can_be_changed():
    class ListCodeGen(fx.CodeGen):
        def gen_fn_def(self, free_vars, maybe_return_annotation):
            return f"def forward(self, args_list){maybe_return_annotation}:\n    {', '.join(free_vars)}, = args_list"

        def process_inputs(self, *inputs):
            return inputs[0]

    traced = fx.symbolic_trace(lambda x, y: x + y)
    traced.graph.set_codegen(ListCodeGen())
    traced.recompile()
    assert traced([1, 2]) == 3
    assert fx.Interpreter(traced).run([1, 2]) == 3
    with traced.graph.on_generate_code(lambda before: lambda lines: [*(before(lines) if before else lines)[:-1], "return 7\n"]):
        traced.recompile()
        assert traced([1, 2]) == 7
    traced.recompile()
    assert traced([1, 2]) == 3


def test_nodes_are_watched_by_the_module_that_owns_them():
    traced = fx.symbolic_trace(lambda x: ad.relu(x))
    told = []
    traced._register_create_node_hook(lambda node: told.append(("made", node.name)))
    traced._register_erase_node_hook(lambda node: told.append(("erased", node.name)))
    traced._register_replace_node_hook(lambda old, new, user: told.append((old.name, new, user.name)))
    (relu,) = traced.graph.find_nodes(op="call_function")
    with traced.graph.inserting_after(relu):
        tanh = traced.graph.call_function(ad.tanh, relu.args)
    relu.replace_all_uses_with(tanh)
    traced.graph.erase_node(relu)
    assert told == [("made", "tanh"), ("relu", "tanh", "output"), ("erased", "relu")]
