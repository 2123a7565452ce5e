"""Graphs, generated code, names and numbers of traced functions and modules, against PyTorch's."""

from __future__ import annotations

import copy
import io
import pickle
import warnings

import numpy as np
import pytest

import adjoint as ad
from tests.fx.programs import expressions, modules

torch = pytest.importorskip("torch")

EXPRESSIONS = {name: (expressions(ad)[name], expressions(torch)[name]) for name in expressions(ad)}
X, Y = np.random.default_rng(0).standard_normal((2, 2, 3)).astype("float32")


def leaves(value, found):
    if isinstance(value, list | tuple):
        for item in value:
            leaves(item, found)
    elif isinstance(value, dict):
        leaves(list(value.values()), found)
    else:
        found.append(value.detach().numpy() if hasattr(value, "detach") else str(value))
    return found


def same(ours, theirs, tolerance=1e-5):
    ours, theirs = leaves(ours, []), leaves(theirs, [])
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(b, str):
            assert a == b
        else:
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch.meshgrid's, torch.norm's
        yield


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_function_has_the_graph_the_code_and_the_results(name):
    ours, theirs = (lib.fx.symbolic_trace(fn) for lib, fn in zip((ad, torch), EXPRESSIONS[name], strict=True))
    assert str(ours.graph) == str(theirs.graph)
    assert ours.code == theirs.code
    args = (X,) if name == "keywords" else (X, Y)
    same(ours(*map(ad.tensor, args)), theirs(*map(torch.tensor, args)))


def pair(name):
    ours, theirs = modules(ad)[name][0], modules(torch)[name][0]
    ours.load_state_dict({key: ad.tensor(value.numpy()) for key, value in theirs.state_dict().items()})
    return ours, theirs


@pytest.mark.parametrize("name", modules(ad))
def test_a_module_has_the_graph_the_code_the_results_and_the_gradients(name):
    ours, theirs = pair(name)
    x = modules(torch)[name][1]
    for train in (True, False) if name not in ("MLP", "Functional") else (False,):  # those with dropout have random numbers
        traced = ad.fx.symbolic_trace(ours.train(train))
        reference = torch.fx.symbolic_trace(theirs.train(train))
        assert str(traced.graph) == str(reference.graph)
        assert traced.code == reference.code
        assert str(traced) == str(reference)
        assert traced.print_readable(print_output=False) == reference.print_readable(print_output=False)
        for module in (traced, copy.deepcopy(traced), pickle.loads(pickle.dumps(traced))):
            assert module.code == traced.code
            assert module.training is train
        got, expected = traced(ad.tensor(x.numpy())), reference(x)
        same(got, expected, 1e-4)
        for result in (got, expected):
            (result["out"] if isinstance(result, dict) else result).square().sum().backward()
        for (path, a), (other, b) in zip(traced.named_parameters(), reference.named_parameters(), strict=True):
            assert path == other
            np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-3, atol=1e-4)
        assert [node.meta.keys() for node in traced.graph.nodes] == [node.meta.keys() for node in reference.graph.nodes]


def both(value, combine):
    return combine(value)


REPLACEMENTS = {
    "chain": lambda t: (lambda x: t.relu(t.relu(t.relu(x))), lambda x: t.relu(t.relu(x)), lambda x: t.tanh(x)),
    "longer chain": lambda t: (lambda x: t.relu(t.relu(t.relu(t.relu(t.relu(x))))), lambda x: t.relu(t.relu(x)), lambda x: t.tanh(x)),
    "literal for an input": lambda t: (lambda x: t.relu(x) + 1, lambda x, y: t.relu(x) + y, lambda x, y: x * y),
    "equal literal": lambda t: (lambda x: t.relu(x) + 1, lambda x: t.relu(x) + 1, lambda x: x),
    "other literal": lambda t: (lambda x: t.relu(x) + 2, lambda x: t.relu(x) + 1, lambda x: x),
    "list": lambda t: (lambda x: t.cat([t.relu(x), x], dim=1), lambda x, y: t.cat([x, y], dim=1), lambda x, y: x + y),
    "used elsewhere": lambda t: (lambda x: both(t.relu(x), lambda a: (a + 1, a)), lambda x: t.relu(x) + 1, lambda x: t.tanh(x)),
    "two results": lambda t: (
        lambda x: both(t.exp(x), lambda a: (a + 1) * a), lambda x: both(t.exp(x), lambda a: (a, a + 1)), lambda x: (t.sin(x), t.cos(x)),
    ),
    "methods": lambda t: (lambda x: x.view(x.size(0), -1), lambda x: x.view(x.size(0), -1), lambda x: t.flatten(x, 1)),
    "one for two": lambda t: (lambda x, y: x + y, lambda x: x + x, lambda x: x * 2),
    "an input": lambda t: (lambda x, y: (x + y) * 2, lambda a, b: a + b, lambda a, b: b),
    "none": lambda t: (lambda x, y: x - y, lambda a, b: a + b, lambda a, b: b),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLACEMENTS)
def test_patterns_are_found_and_replaced_at_the_same_places(name):
    told = []
    for lib in (ad, torch):
        program, pattern, replacement = REPLACEMENTS[name](lib)
        traced = lib.fx.symbolic_trace(program)
        found = lib.fx.replace_pattern(traced, pattern, replacement)
        told.append((traced.code, [(str(m.anchor), {str(a): str(b) for a, b in m.nodes_map.items()}) for m in found]))
    assert told[0] == told[1]


def flagged(x, flag, d, n):
    return x + 1 if flag else x * 2 + d["a"]


def nested(x, d):
    return {"r": d[0] + x, "s": [d[1]]}


CONCRETE = {
    "flag": lambda fx: (flagged, {"flag": True, "n": None}),
    "placeholders": lambda fx: (flagged, {"flag": False, "d": {"a": fx.PH, "b": fx.PH}, "n": None}),
    "list": lambda fx: (nested, {"d": [fx.PH, fx.PH]}),
    "constants": lambda fx: (nested, {"d": (1, "a")}),
}


@pytest.mark.parametrize("name", CONCRETE)
def test_concrete_arguments(name):
    ours, theirs = (lib.fx.symbolic_trace(*CONCRETE[name](lib.fx)) for lib in (ad, torch))
    assert ours.code == theirs.code
    assert str(ours.graph) == str(theirs.graph)


REFUSED = {
    "branch": lambda t: lambda x: x if x.sum() > 0 else -x,
    "loop": lambda t: lambda x: [row for row in x],
    "length": lambda t: lambda x: len(x),
    "membership": lambda t: lambda x: 1 in x,
    "key": lambda t: lambda x: {x: 1},
    "keywords": lambda t: lambda x: dict(**x),
    "object": lambda t: lambda x: object(),
    "module": lambda t: lambda x: t.nn.Linear(3, 3)(x),
    "assertion": lambda t: lambda x: (_ for _ in ()).throw(AssertionError) if bool(x) else x,
    "item assignment": lambda t: lambda x: x.__class__.__setitem__(x, 0, 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_traced_is_refused_in_the_same_words(name):
    told = []
    for lib in (ad, torch):
        with pytest.raises(Exception) as caught:
            lib.fx.symbolic_trace(REFUSED[name](lib))
        told.append((type(caught.value).__name__, str(caught.value)))
    assert told[0] == told[1]


def test_names_are_handed_out_in_the_same_way():
    candidates = ["relu", "relu_1", "relu_2", "conv_0", "conv_0_1", "abs", "for", "1", "", "a.b", "torch", "inf", "layer1.0", "0", "_1"]
    rng = np.random.default_rng(0)
    for _ in range(200):
        ours, theirs = ad.fx.graph._Namespace(), torch.fx.graph._Namespace()
        for candidate in rng.choice(candidates, 12):
            assert ours.create_name(str(candidate), None) == theirs.create_name(str(candidate), None)


def test_a_module_is_split_in_the_same_way():
    from torch.fx.passes.split_module import split_module as theirs

    from adjoint.fx.passes.split_module import split_module as ours

    told = []
    for lib, split in ((ad, ours), (torch, theirs)):
        model, x = modules(lib)["Encoder"]
        traced = lib.fx.symbolic_trace(model)
        calls = [node.name for node in traced.graph.nodes if node.op.startswith("call")]
        names = {}
        parts = split(traced, model, lambda node, calls=calls: calls.index(node.name) * 3 // len(calls), qualname_map=names)
        told.append((parts.code, [part.code for _, part in parts.named_children()], names))
        assert lib.allclose(parts(x), model(x))
    assert told[0] == told[1]


def test_a_module_that_pytorch_has_saved():
    theirs = torch.fx.symbolic_trace(modules(torch)["Sequential"][0])
    file = io.BytesIO()
    torch.save(theirs, file)
    file.seek(0)
    ours = ad.load(file, weights_only=False)
    assert isinstance(ours, ad.fx.GraphModule) and ours.code == theirs.code
    x = np.ones((2, 6), dtype="float32")
    same(ours(ad.tensor(x)), theirs(torch.tensor(x)))
