"""Calls of linear algebra, right and wrong ones, give what they give in PyTorch: values, dtypes, shapes, or the error.

They are listed in linalg_calls.txt. `T(*shape)` makes numbers, `sing` matrices with a row of zeros.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")

CALLS = [line for line in Path(__file__).with_name("linalg_calls.txt").read_text().splitlines() if not line.startswith("#")]
NARROW = {"float16": 1e-2, "bfloat16": 1e-1, "float32": 1e-4, "complex64": 1e-4}


def names(library: Any) -> dict[str, Any]:
    def make(*shape: int, dtype: str = "float64", seed: int = 0, pd: bool = False) -> Any:
        random = np.random.default_rng(seed + sum(shape) * 7 + len(shape))
        array: Any = random.standard_normal(shape)
        if dtype.startswith("complex"):
            array = array + 1j * random.standard_normal(shape)
        if pd:
            array = array @ np.conj(np.swapaxes(array, -1, -2)) + np.eye(shape[-1]) * shape[-1]
        if dtype.startswith(("int", "uint")):
            array = random.integers(-4, 5, shape)
        if dtype == "bool":
            array = array > 0
        kind = getattr(library, dtype)
        return library.zeros(shape, dtype=kind) if 0 in shape else library.tensor(array.tolist(), dtype=kind)

    def singular(*shape: int, dtype: str = "float64", at: int | None = None) -> Any:
        made = make(*shape, dtype=dtype).clone()
        (made if at is None else made[at])[..., 1, :] = 0
        return made

    return {"torch": library, "L": library.linalg, "T": make, "sing": singular, "nan": math.nan, "inf": math.inf}


def outcome(library: Any, call: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(call, names(library))
        except Exception as error:
            return error


def tensors(value: Any) -> list[Any]:
    return [tensor for item in value for tensor in tensors(item)] if isinstance(value, tuple | list) else [value]


@pytest.mark.parametrize("call", CALLS)
def test_calls(call: str) -> None:
    theirs, ours = outcome(torch, call), outcome(ad, call)
    if isinstance(theirs, Exception):
        assert isinstance(ours, Exception), call
        assert type(ours).__name__.lstrip("_") == type(theirs).__name__.lstrip("_")
        assert " ".join(str(ours).split())[:25] == " ".join(str(theirs).split())[:25]
        return
    assert not isinstance(ours, Exception), ours
    assert type(ours).__name__ == type(theirs).__name__
    for mine, other in zip(tensors(ours), tensors(theirs), strict=True):
        assert (str(mine.dtype), tuple(mine.shape)) == (str(other.dtype), tuple(other.shape))
        tolerance = NARROW.get(str(mine.dtype).removeprefix("torch."), 1e-8)
        values = [np.asarray(x.tolist()) for x in (mine, other)]
        np.testing.assert_allclose(*values, rtol=tolerance, atol=tolerance)
