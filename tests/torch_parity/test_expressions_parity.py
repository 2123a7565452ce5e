"""The expressions in expressions.txt mean what they mean in PyTorch: value, dtype, shape and history, or the class of error."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")

LINES = [line for line in Path(__file__).with_name("expressions.txt").read_text().splitlines() if line and not line.startswith("#")]
TOLERANCE = {"float16": 3e-3, "bfloat16": 2e-2, "float32": 2e-5, "complex64": 2e-5, "complex32": 3e-3}


def plain(value: Any, library: Any) -> Any:
    """What is compared of a value."""
    if isinstance(value, library.Tensor):
        array = value.detach().resolve_conj().resolve_neg()
        dtype = str(value.dtype).removeprefix("torch.")
        return dtype, tuple(value.shape), value.requires_grad, (array.float() if dtype == "bfloat16" else array).numpy()
    if isinstance(value, tuple | list):
        return type(value).__name__, [plain(item, library) for item in value]
    if isinstance(value, library.dtype):
        return str(value)
    return value if isinstance(value, bool | int | float | complex | str | np.ndarray | np.generic | None) else type(value).__name__


def outcome(library: Any, line: str) -> Any:
    names = {"torch": library, "F": library.nn.functional, "np": np, "math": math, "nan": math.nan, "inf": math.inf}
    *before, last = line.split(";")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec("\n".join(part.strip() for part in before), names)
            return plain(eval(last.strip(), names), library)
    except Exception as error:
        return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")


def assert_same(found: Any, wanted: Any, dtype: str = "float64") -> None:
    if isinstance(wanted, np.ndarray | float | complex | np.generic):
        assert type(found) is type(wanted)
        scale = TOLERANCE.get(dtype, 1e-10)
        np.testing.assert_allclose(found, wanted, rtol=scale, atol=scale * 1e-2)
    elif isinstance(wanted, tuple | list):
        assert type(found) is type(wanted)
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            assert_same(a, b, wanted[0] if isinstance(wanted[0], str) else dtype)
    else:
        assert found == wanted


@pytest.mark.parametrize("line", LINES)
def test_expression(line: str) -> None:
    assert_same(outcome(ad, line), outcome(torch, line))
