"""Matrix products."""

from __future__ import annotations

import numpy as np

from ._registry import MULTILINEAR, Array, op


@op(jvp=MULTILINEAR, nodes="MmBackward0",
    input=lambda g, mat2: np.matmul(g, np.swapaxes(mat2, -1, -2)),
    mat2=lambda g, input: np.matmul(np.swapaxes(input, -1, -2), g))  # fmt: skip
def mm(input: Array, mat2: Array) -> Array:
    """The product of two matrices."""
    return np.matmul(input, mat2)
