"""`viz.trace`: whole programs, forward and backward, as events."""

import json

import pytest

import adjoint as ad


def words(event):
    return "".join(part if isinstance(part, str) else part[0] for part in event["formula"])


def traced(*lines):
    found = ad.viz.trace("\n".join(lines))
    json.dumps(found, allow_nan=False)
    for edge in found["edges"]:
        assert 0 <= edge["from"] < len(found["nodes"]) and 0 <= edge["to"] < len(found["nodes"])
    for event in found["events"]:
        assert isinstance(event["says"], str) and words(event)
        assert event["node"] is None or 0 <= event["node"] < len(found["nodes"])
    for layout in found["layout"].values():
        assert len(layout["nodes"]) == len(found["nodes"]) and len(layout["edges"]) == len(found["edges"])
    return found


def kinds(found):
    return [event["kind"] for event in found["events"]]


def formulas(found, kind):
    return [words(event) for event in found["events"] if event["kind"] == kind]


def names(found):
    return [node["name"] for node in found["nodes"]]


X = "x = ad.tensor(2.0, requires_grad=True)"


def test_a_polynomial():
    found = traced(X, "y = x ** 2 + 3 * x", "y.backward()", "print(x.grad)")
    assert sorted(names(found)) == ["3", "3·x", "x", "x²", "y"]
    assert formulas(found, "op") == ["x² = 2² = 4", "3·x = 3·2 = 6", "y = x² + 3·x = 4 + 6 = 10"]
    assert formulas(found, "deliver") == [
        "∂y/∂(x²) = 1",
        "∂y/∂(3·x) = 1",
        "∂y/∂x via 3·x = ∂y/∂(3·x) · 3 = 1 · 3 = 3",
        "∂y/∂x via x² = ∂y/∂(x²) · 2·x = 1 · 2·2 = 4",
    ]
    assert formulas(found, "sum") == ["∂y/∂x = 3 + 4 = 7"]
    assert formulas(found, "accumulate") == ["x.grad: None → 7"]
    assert formulas(found, "print") == ["tensor(7.)"] and found["output"] == "tensor(7.)\n"
    spans = {node["name"]: (node["line"], node["span"]) for node in found["nodes"] if node["kind"] == "op"}
    assert spans == {"x²": (2, [4, 10]), "3·x": (2, [13, 18]), "y": (2, [4, 18])}


def test_the_chain_rule():
    found = traced(X, "y = ad.tensor(3.0, requires_grad=True)", "s = x + y", "z = s ** 2", "z.backward()")
    assert formulas(found, "deliver") == ["∂z/∂s = 2·s = 2·5 = 10", "∂z/∂x = ∂z/∂s = 10", "∂z/∂y = ∂z/∂s = 10"]
    saved = {node["name"]: node.get("saved") for node in found["nodes"] if node["kind"] == "op"}
    assert saved["s"] is None and saved["z"] == [{"of": names(found).index("s"), "value": 5.0}]


def test_a_second_pass_adds():
    found = traced(X, "y = x ** 2", "y.backward(retain_graph=True)", "y.backward()")
    assert formulas(found, "accumulate") == ["x.grad: None → 4", "x.grad: 4 + 4 = 8"]
    assert [event.get("keeps", False) for event in found["events"] if event["kind"] == "seed"] == [True, False]


def test_each_use_is_an_edge():
    found = traced(X, "y = x * x", "y.backward()")
    assert [(edge["from"], edge["slot"]) for edge in found["edges"]] == [(0, 0), (0, 1)]
    assert kinds(found)[2:] == ["seed", "deliver", "deliver", "sum", "accumulate"]


def test_names_in_functions_and_loops():
    function = "def f(x):", "    s = x * x", "    return s.sum()", ""
    found = traced(*function, "x = ad.ones(3, requires_grad=True)", "y = f(x)", "y = y * 2", "y = y * 3")
    assert [node["name"] for node in found["nodes"] if node["kind"] != "number"] == ["x", "s", "y", "y₂", "y₃"]
    assert [node["line"] for node in found["nodes"] if node["kind"] == "op"] == [2, 3, 7, 8]


def test_a_training_step():
    found = traced(
        "ad.manual_seed(0)", "layer = nn.Linear(2, 1)", "opt = ad.optim.SGD(layer.parameters(), lr=0.1)", "x = ad.tensor([[1.0, -1.0]])",
        "loss = F.mse_loss(layer(x), ad.zeros(1, 1))", "loss.backward()", "opt.step()", "opt.zero_grad()",
    )  # fmt: skip
    kind = {node["name"]: node["kind"] for node in found["nodes"]}
    assert kind["layer.weight"] == kind["layer.bias"] == "parameter" and kind["x"] == "data" and kind["layer(x)"] == "op"
    assert "∂loss/∂layer.weight = (∂loss/∂layer(x))ᵀ · x = " in " ".join(formulas(found, "deliver"))
    assert kinds(found)[-4:] == ["write", "write", "grad", "grad"]
    weight = next(event for event in found["events"] if event["kind"] == "write")
    ad.manual_seed(0)
    layer = ad.nn.Linear(2, 1)
    ad.nn.functional.mse_loss(layer(ad.tensor([[1.0, -1.0]])), ad.zeros(1, 1)).backward()
    ad.optim.SGD(layer.parameters(), lr=0.1).step()
    assert weight["value"] == [[pytest.approx(v, rel=1e-6) for v in layer.weight.tolist()[0]]]
    (group,) = found["groups"]
    assert (group["name"], group["kind"]) == ("layer", "Linear") and [found["nodes"][n]["name"] for n in group["nodes"]] == ["layer(x)"]


def test_cuts():
    found = traced(X, "y = x ** 2", "d = y.detach()", "z = y * d", "with ad.no_grad():", "    w = x * 10", "z.backward()")
    cuts = {(found["nodes"][e["from"]]["name"], found["nodes"][e["to"]]["name"]): e["cut"] for e in found["edges"] if "cut" in e}
    assert cuts == {("y", "d"): "detach", ("x", "w"): "no_grad"}
    assert formulas(found, "accumulate") == ["x.grad: None → 16"]


def test_an_error_is_the_last_event():
    found = traced(X, "y = ad.exp(x)", "z = y * y", "y += 1", "z.backward()")
    last = found["events"][-1]
    assert last["kind"] == "error" and last["line"] == 5 and found["nodes"][last["node"]]["name"] == "z"
    assert "modified by an inplace operation" in last["message"] and "changed  <program>:4   y += 1" in last["message"]
    assert found["error"] == {"type": "InplaceError", "message": last["message"], "line": 5}
    written = next(node for node in found["nodes"] if node["name"] == "y₂")
    assert written["version"] == 1 and found["nodes"][written["replaces"]]["name"] == "y"


def test_a_syntax_error():
    found = traced("x = 1", "y = = 2")
    assert found["error"]["type"] == "SyntaxError" and found["error"]["line"] == 2 and kinds(found) == ["error"]


def test_second_derivatives():
    found = traced(X, "y = x ** 3", "(dy,) = ad.autograd.grad(y, x, create_graph=True)", "dy.backward()")
    assert formulas(found, "capture") == ["∂y/∂x = 12"] and formulas(found, "accumulate") == ["x.grad: None → 12"]
    assert "∂dy/∂x = ∂dy/∂(x²) · 2·x = 3 · 2·2 = 12" in formulas(found, "deliver")


def test_a_custom_function():
    found = traced(
        "class Cube(ad.autograd.Function):", "    @staticmethod", "    def forward(ctx, x):", "        ctx.save_for_backward(x)",
        "        return x ** 3", "", "    @staticmethod", "    def backward(ctx, g):", "        (x,) = ctx.saved_tensors",
        "        return g * 3 * x ** 2", "", X, "y = Cube.apply(x)", "z = y + 1", "z.backward()",
    )  # fmt: skip
    assert [node["name"] for node in found["nodes"] if node["kind"] == "op"] == ["y", "z"]
    assert found["nodes"][1]["saved"] == [{"of": 0, "value": 2.0}]
    assert formulas(found, "deliver")[-1] == "∂z/∂x = Cube.backward = 12"


def test_hooks():
    found = traced(X, "y = x * 3", "y.register_hook(lambda g: g * 10)", "x.register_hook(print)", "z = y ** 2", "z.backward()")
    assert formulas(found, "hook") == ["∂z/∂y: 12 → 120", "∂z/∂x: 360 → 360"]
    assert formulas(found, "accumulate") == ["x.grad: None → 360"] and "tensor(360.)" in found["output"]


def test_large_values_have_a_norm_and_a_beginning():
    found = traced("x = ad.ones(10, 10, requires_grad=True)", "(x * 2).sum().backward()")
    assert found["nodes"][0]["value"] == {"shape": [10, 10], "norm": 10.0, "first": [1.0] * 8}
    last = found["events"][-1]
    assert last["after"] == {"shape": [10, 10], "norm": 20.0, "first": [2.0] * 8} and words(last) == "x.grad: None → 10×10"


def test_values_that_are_no_numbers():
    found = traced("x = ad.tensor([0.0, -1.0], requires_grad=True)", "ad.log(x).sum().backward()")
    assert found["nodes"][1]["value"] == ["-inf", "nan"] and found["events"][-1]["after"] == ["inf", -1.0]


def test_a_function_with_arguments():
    def step(w, x):
        loss = (w * x).sum()
        loss.backward()

    w = ad.tensor([1.0, 2.0], requires_grad=True)
    found = ad.viz.trace(step, w, ad.tensor([3.0, 4.0]))
    assert found["code"].startswith("def step(w, x):\n    loss = ") and names(found)[:2] == ["w", "x"]
    assert [event["line"] for event in found["events"] if event["kind"] == "seed"] == [3] and w.grad.tolist() == [3.0, 4.0]


def test_transforms_are_one_step():
    found = traced("f = lambda x: (x ** 3).sum()", "y = ad.func.grad(f)(ad.ones(3))", "z = ad.func.vmap(f)(ad.ones(2, 3))", "print(z)")
    assert "error" not in found and {"y", "z"} <= set(names(found)) and found["output"] == "tensor([3., 3.])\n"


def test_modules_are_folded_where_there_are_many():
    blocks = "class Block(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(2, 2)\n\n"
    blocks += "    def forward(self, x):\n        return x + self.a(x).tanh() * 2 - x.sin() * x.cos()\n\n"
    model = "m = nn.Sequential(*[Block() for _ in range(8)])"
    found = traced(blocks, "ad.manual_seed(0)", model, "loss = m(ad.ones(1, 2)).sum()", "loss.backward()")
    folded = found["overview"]
    made = [node["name"] for node in folded["nodes"] if node["kind"] == "op"]
    assert len(found["nodes"]) > 80 and made == [*(f"m.{i}" for i in range(8)), "loss"]
    assert all(edge["from"] < len(folded["nodes"]) > edge["to"] for edge in folded["edges"])
    events = found["events"]
    for event in folded["events"]:
        if event["kind"] in ("deliver", "sum", "seed"):
            assert any(event["grad"] == other.get("grad") and event["formula"] == other["formula"] for other in events)
        if event["kind"] == "deliver":
            assert folded["edges"][event["edge"]]["to"] == event["node"]
    assert [event["kind"] for event in folded["events"]].count("inside") == 8
    assert all(event["says"] and event["formula"] for event in folded["events"])
    assert "overview" not in traced(X, "y = x * x", "y.backward()")


def test_limits():
    found = ad.viz.trace("x = ad.tensor(1.0, requires_grad=True)\nwhile True:\n    x = x * 2", limit=50)
    assert len(found["events"]) == 50 and found["truncated"]


def test_nothing_is_left_behind():
    import sys

    before = sys.gettrace()
    traced(X, "y = nn.Linear(1, 1)(x.reshape(1, 1))", "raise ValueError('no')")
    assert sys.gettrace() is before and ad.autograd.anomaly_mode.timed is None and not ad.nn._hooks.EVERYWHERE
    x = ad.tensor(2.0, requires_grad=True)
    (x * x).backward()
    assert x.grad.item() == 4.0


PROGRAMS = [
    "y = x.exp().log() + x.sin() * x.cos()\ny.sum().backward()",
    "a, b = x.split(2)\n(a * b).sum().backward()",
    "y = ad.stack([x, x * 2]).prod(0)\ny.sum().backward()",
    "y = x.clone()\ny[1:3] = x[:2] * 3\n(y * y).sum().backward()",
    "y = F.softmax(x.reshape(2, 2), 1)\n(y * y).sum().backward()",
    "m = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))\nF.cross_entropy(m(x)[None], ad.tensor([1])).backward()",
    "m = nn.LSTM(4, 3)\nm(x[None])[0].sum().backward()",
    "g, = ad.autograd.grad((x ** 3).sum(), x, create_graph=True)\n(g ** 2).sum().backward()",
    "c = nn.Conv1d(1, 2, 2)\nc(x[None, None]).relu().mean().backward()",
    "x.register_post_accumulate_grad_hook(lambda p: print(p.grad.mul_(2)))\n(x.view(2, 2) @ x.view(2, 2).T).trace().backward()",
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_recorded_gradients_are_those_of_the_program(program):
    """What is delivered to a node adds up to what it hands on, and at the end stands in `.grad`."""
    code = "ad.manual_seed(1)\nx = ad.tensor([0.5, 1.5, -0.5, 2.0], requires_grad=True)\n" + program
    found = traced(code)
    assert "error" not in found, found["error"]
    space = {"ad": ad, "nn": ad.nn, "F": ad.nn.functional}
    exec(code, space)
    last = {event["node"]: event["after"] for event in found["events"] if event["kind"] in ("accumulate", "grad")}
    assert last[0] == pytest.approx(space["x"].grad.tolist(), rel=1e-6)
