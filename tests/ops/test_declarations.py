"""Declarations: what is said of those that cannot be, and what follows from what one does not say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops import _registry
from adjoint.ops._registry import ELEMENTWISE, FLOAT, OPS, REDUCTION, Array, Op, elementwise


def scaled(input: Array, factor: float) -> Array:
    return input * factor


@pytest.mark.parametrize(
    ("forward", "rules", "options", "words"),
    [
        (lambda input: input, {"input": lambda g: g}, {}, r"'input', which is no tensor argument.*; annotate it: def scaled\("),
        (scaled, {"x": lambda g: g}, {}, r"'x', which is no tensor argument of the forward; the forward has \['input', 'factor'\]"),
        (scaled, {"factor": lambda g: g}, {}, r"annotate it: def scaled\(factor: Array, \.\.\.\)"),
        (scaled, {"input": lambda g, scale: g * scale}, {}, r"rule for 'input' names \['scale'\], which is not among"),
        (scaled, {}, {}, "has no rule; say differentiable=False"),
        (scaled, {"input": lambda g: g}, {"differentiable": False}, "is declared not differentiable and has rules"),
        (scaled, {"input": lambda g: g}, {"jvp": None}, "has no forward-mode rule"),
    ],
)
def test_what_is_wrong_with_a_declaration(forward: Any, rules: dict[str, Any], options: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Op("scaled", forward, rules, **{"jvp": ELEMENTWISE, **options})


def test_a_declaration_that_can_be() -> None:
    op = Op("scaled", scaled, {"input": lambda g, factor: g * factor}, jvp=ELEMENTWISE)
    assert op.inputs == ("input",) and op.params == ("factor",) and op.rules["input"](np.ones(2), 3.0).tolist() == [3, 3]


# ---- complex numbers ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def softsign(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An op with |x| in it, whose declaration says nothing about complex numbers."""

    def forward(input: Array) -> Array:
        return input / (1 + np.abs(input))

    monkeypatch.setattr(_registry, "OPS", {})  # this one is not the library's
    rule = lambda g, input: g / (1 + np.abs(input)) ** 2  # noqa: E731
    return elementwise("softsign", forward, promote=FLOAT, input=rule, method=False, function=False)


REFUSED = "softsign does not support automatic differentiation for outputs with complex dtype"


def test_who_says_nothing_has_no_gradients_of_complex_numbers(softsign: Any) -> None:
    z = ad.tensor([3.0 + 4.0j], dtype=ad.complex128)
    for _ in range(3):  # the first call, and those that take a fast path
        assert softsign(z).tolist() == [(3 + 4j) / 6]
        with pytest.raises(RuntimeError, match=REFUSED):
            softsign(z.clone().requires_grad_())
    with pytest.raises(RuntimeError, match=REFUSED):
        ad.func.grad(lambda z: softsign(z).abs().sum())(z)
    with pytest.raises(RuntimeError, match=REFUSED):
        ad.func.jvp(softsign, (z,), (z,))
    assert ad.autograd.gradcheck(softsign, ad.tensor([1.5, -2.0], dtype=ad.float64, requires_grad=True), check_forward_ad=True)


def test_nothing_is_written_if_it_is_refused(softsign: Any) -> None:
    z = ad.tensor([3.0 + 4.0j], requires_grad=True).clone()
    with pytest.raises(RuntimeError, match=REFUSED):
        softsign.inplace(z)
    assert z.tolist() == [3 + 4j] and z._version == 0


def test_what_is_linear_or_moves_elements_is_holomorphic() -> None:
    assert OPS["sum_dim"].holomorphic and OPS["mm"].holomorphic and OPS["permute"].holomorphic
    assert OPS["exp"].holomorphic and OPS["abs"].holomorphic is False and OPS["erf"].holomorphic is None


# ---- half precision -----------------------------------------------------------------------------------------------------------------


def test_a_reduction_computes_half_precision_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    def forward(input: Array) -> Array:
        return np.sqrt(np.mean(input * input))

    monkeypatch.setattr(_registry, "OPS", {})
    rule = lambda g, input, out: g * (input / (out * input.size))  # noqa: E731
    rms = _registry.op("rms", input=rule, jvp=REDUCTION, method=False, function=False)(forward)
    x = ad.full((4,), 300.0, dtype=ad.float16, requires_grad=True)
    for _ in range(3):
        x.grad = None
        y = rms(x)
        y.backward()
        assert y.item() == 300.0 and x.grad.tolist() == [0.25] * 4 and x.grad.dtype == y.dtype == ad.float16
