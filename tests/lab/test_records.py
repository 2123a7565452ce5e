"""What the pages show is recorded with adjoint: the same each time, and what the pages say about it is so."""

from __future__ import annotations

import json
from importlib import import_module

import pytest

from adjoint.lab import pages
from adjoint.lab.pages import accumulate, depth, differences, freed, leaves, modes, vector

RECORDED = [page.name for page in pages.PAGES if (pages.HERE / f"{page.name}.py").exists()]


@pytest.mark.parametrize("name", RECORDED)
def test_the_same_each_time(name):
    record = import_module(f"adjoint.lab.pages.{name}").record
    first = json.dumps(record(), allow_nan=False)
    assert json.dumps(record(), allow_nan=False) == first


def test_micro_batches():
    assert accumulate.micro_batches(0.25)[-1] == pytest.approx(accumulate.one_batch())
    assert accumulate.micro_batches(1.0)[-1] == pytest.approx([4 * value for value in accumulate.one_batch()])


def test_both_modes_give_one_jacobian():
    columns, rows = modes.columns(), modes.rows()
    for i in range(modes.SIZE):
        assert [columns[j][i] for j in range(modes.SIZE)] == pytest.approx(rows[i], rel=1e-12)


def test_backward_gives_the_vector_times_the_jacobian():
    data = vector.record()
    for v in ([1.0, 1.0, 1.0], [0.5, -2.0, 1.5]):
        product = [sum(weight * row[j] for weight, row in zip(v, data["jacobian"], strict=True)) for j in range(3)]
        assert vector.gradient(v) == pytest.approx(product)
    assert data["refusal"]["message"].startswith("grad can be implicitly created only for scalar outputs")


def test_who_keeps_a_gradient():
    grads = {key: {name: t["grad"] for name, t in run["tensors"].items()} for key, run in leaves.record()["versions"].items()}
    assert grads["100"] == {"w": 37.0, "x": None, "h": None, "y": None, "loss": None}
    assert grads["110"]["h"] == 12.0
    assert grads["101"]["w"] == 1.0
    assert "requires_grad=False" in leaves.run(leaves.program(False, True, False))["error"]["message"]


def test_a_pass_frees_and_a_retained_graph_does_not():
    once, retain, never = (freed.run(ending) for ending in ("once", "retain", "never"))
    assert [(piece["name"], piece["owner"]) for piece in once["saved"]] == [("x", "h"), ("a", "a"), ("w2", "p"), ("a", "p"), ("e", "s")]
    for piece in once["saved"]:
        step = once["steps"][piece["until"]]
        assert step["says"] == f"the gradient reaches {piece['owner']}"  # freed by the rule that used it
    assert once["error"]["type"] == "GraphFreedError"
    assert retain["error"] is None
    assert {piece["until"] for piece in retain["saved"]} == {len(retain["steps"]) - 1}  # by the second pass
    assert {piece["until"] for piece in never["saved"]} == {len(never["steps"]) - 1}


def test_differences_have_a_best_step():
    data = differences.record()["functions"]["sin"]
    for dtype, worst in (("float32", 1e-3), ("float64", 1e-8)):
        errors = [abs(value - data["derivative"]) for value in data[dtype]["central"]]
        best = errors.index(min(errors))
        assert errors[best] < worst
        assert errors[best] < errors[0] and errors[best] < errors[-1]
        assert min(abs(value - data["derivative"]) for value in data[dtype]["forward"]) > errors[best]


def test_gradients_vanish_and_explode_with_depth():
    def ratio(*settings):
        norms = depth.norms(32, *settings)
        return norms[0] / norms[-1]

    assert ratio("sigmoid", "one", False) < 1e-10
    assert ratio("none", "two", False) > 0.1 and depth.norms(32, "none", "two", False)[0] > 1e6
    assert 1e-2 < ratio("relu", "he", False) < 1e2
    assert ratio("sigmoid", "half", True) > 1e-3
