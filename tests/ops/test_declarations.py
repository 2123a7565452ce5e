"""Declarations that cannot be: what is said of them when the op is made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.ops._registry import ELEMENTWISE, Array, Op


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
