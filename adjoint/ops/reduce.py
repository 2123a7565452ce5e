"""Reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._registry import LINEAR, Array, op
from ._rules import normalize_dims, spread


@op("sum", nodes="SumBackward1", input=lambda g, input_shape, dim, keepdim: spread(g, input_shape, dim, keepdim), jvp=LINEAR)
def sum(input: Array, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Array:
    return np.sum(input, axis=normalize_dims(dim, len(input.shape)), keepdims=keepdim, dtype=dtype)
