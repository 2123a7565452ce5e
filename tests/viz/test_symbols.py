"""Derivatives in symbols: read from the rules of all ops, and equal to the gradients that the engine delivers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops._registry import OPS
from adjoint.utils._python_dispatch import TorchDispatchMode
from adjoint.viz import symbols
from adjoint.viz.terms import Term
from tests.ops._check import Call
from tests.ops.samples import load_dense

ROWS = load_dense()
SAMPLES = 3  # of each op


class Calls(TorchDispatchMode):
    """The ops that ran: declaration and arguments by the node that was made."""

    def __init__(self) -> None:
        self.made: dict[Any, tuple[Any, dict[str, Any]]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = dict(zip(func.declaration.args, (*args, *(kwargs or {}).values()), strict=False))
        values = {name: array(value) for name, value in given.items()}
        result = func(*args, **(kwargs or {}))
        own = func._function in (None, func.declaration.function)  # and no in-place form
        if own and isinstance(result, ad.Tensor) and result.grad_fn is not None:
            self.made[result.grad_fn] = func.declaration, {**values, "out": array(result)}
        return result


def array(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(array, value)) if type(value) in (list, tuple) else value
    return np.array(value._data) if isinstance(value, ad.Tensor) else value


def readings(name: str) -> list[tuple[Any, str, Term | None, Any, Any, dict[str, Any]]]:
    """For the samples of an op: what can be read of each gradient that is delivered."""
    row, found = ROWS[name], []
    for sample in [sample for sample in row.samples() if sample.differences][:SAMPLES]:
        call = Call(row, sample)
        tensors = call.tensors()
        for slot in call.differentiable():
            if call.arrays[slot].dtype == np.float64:
                tensors[slot].requires_grad_()
        with warnings.catch_warnings(action="ignore"), Calls() as calls:
            results = [one for one in call(tensors) if isinstance(one, ad.Tensor) and one.requires_grad]
        if not results or results[0].dtype.is_complex:
            continue
        weights = ad.linspace(0.5, 1.5, results[0].numel(), dtype=results[0].dtype).reshape(results[0].shape)
        incoming: dict[Any, Any] = {}
        for event in ad.autograd.steps(results[0], weights):
            if event.kind == "incoming":
                incoming[event.node] = event.gradient
            elif event.kind == "delivered" and event.node in calls.made and isinstance(incoming[event.node], ad.Tensor):
                op, values = calls.made[event.node]
                of = op.inputs[0] if op.sequence else op.inputs[event.slot]
                g = incoming[event.node].numpy()
                term = symbols.derivative(op, of, values, g, event.slot if op.sequence else 0)
                found.append((op, of, term, g, event.gradient.numpy(), values))
    return found


@pytest.mark.parametrize("name", sorted(name for name in ROWS if name not in OPS or OPS[name].differentiable))
def test_what_is_read_is_the_gradient(name):
    for _, of, term, g, gradient, values in readings(name):
        if term is None:
            continue
        with np.errstate(all="ignore"):
            assert symbols.agrees(term.evaluate({"g": g, **values}), gradient), (name, of, term.text({}))
        assert term.text({}) and term.atoms() <= {"g", "out", *values}


# Ops whose rules must stay readable, with the text that a reader sees.
TEXTS = {
    ("add", "input"): "g",
    ("sub", "other"): "−g",
    ("mul", "input"): "g ⊙ other",
    ("div", "input"): "g / other",
    ("exp", "input"): "g ⊙ out",
    ("log", "input"): "g / input",
    ("sin", "input"): "g ⊙ cos(input)",
    ("cos", "input"): "−g ⊙ sin(input)",
    ("tanh", "input"): "g ⊙ (1 − out²)",
    ("sigmoid", "input"): "g ⊙ (1 − out) ⊙ out",
    ("sqrt", "input"): "g / (2·out)",
    ("relu", "input"): "g where out > 0, else 0",
    ("abs", "input"): "g ⊙ sign(input)",
    ("reciprocal", "input"): "−g ⊙ out²",
    ("mm", "input"): "g · mat2ᵀ",
    ("mm", "mat2"): "inputᵀ · g",
    ("linear", "input"): "g · weight",
    ("linear", "weight"): "gᵀ · input",
    ("softmax", "input"): "(g − Σ(g ⊙ out)) ⊙ out",
}


@pytest.mark.parametrize(("name", "of"), TEXTS)
def test_texts(name, of):
    texts = [term.text({}) for op, found, term, *_ in readings(name) if op.name == name and found == of and term is not None]
    assert TEXTS[name, of] in texts or TEXTS[name, of] in [text.removeprefix("Σ(").removesuffix(")") for text in texts], texts


def test_most_rules_can_be_read(record_property):
    """A rule written otherwise must not make its formula disappear unnoticed."""
    read, all_ = set(), set()
    for name in ROWS:
        if name in OPS and OPS[name].broadcasts and OPS[name].differentiable:
            for op, of, term, *_ in readings(name):
                all_.add((op.name, of))
                if term is not None:
                    read.add((op.name, of))
    record_property("read", f"{len(read)} of {len(all_)}")
    assert len(read) >= 0.8 * len(all_), sorted(all_ - read)


def scalar(op: str, of: str, **values: Any) -> str:
    declared = OPS[op]
    known = declared.default_values() | values
    known |= {key: np.float64(value) for key, value in values.items() if isinstance(value, float)}
    known["out"] = declared.call(known)
    term = symbols.derivative(declared, of, known, np.float64(3.0))
    assert term is not None
    return term.text({"input": "x", "out": "y"})


def test_scalars_are_written_as_a_person_would():
    assert scalar("pow_number", "input", input=5.0, exponent=2) == "2·g·x"
    assert scalar("pow_number", "input", input=5.0, exponent=3) == "3·g·x²"
    assert scalar("pow_number", "input", input=5.0, exponent=-1) == "−g / x²"
    assert scalar("pow_number", "input", input=5.0, exponent=1) == "g"
    assert scalar("pow", "exponent", input=5.0, exponent=2.0) == "g·y·ln(x)"
    assert scalar("div", "other", input=5.0, other=2.0) == "−g·x / other²"
    assert scalar("rsqrt", "input", input=4.0) == "−g·y³ / 2"
    assert scalar("log1p", "input", input=4.0) == "g / (x + 1)"
    assert scalar("leaky_relu", "input", input=4.0) == "g where x > 0, else g / 100"


def test_what_cannot_be_read_is_none_not_wrong():
    values = {"input": np.ones((1, 1, 3)), "weight": np.ones((1, 1, 2)), "bias": None, "stride": (1,), "padding": (0,)}
    op = OPS["convolution"]
    values = {**op.default_values(), **values, "out": np.ones((1, 1, 2))}
    assert symbols.derivative(op, "input", values, np.ones((1, 1, 2))) is None
