"""Samples of the conversions between dtypes, which take NumPy's dtypes and so have no counterpart to compare with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.samples import Make, Sample, samples


@samples("_to_copy")
def floating(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 2), np.dtype("float64")).not_in_torch()
    yield Sample(make(3, 2), np.dtype("complex128")).not_in_torch()
    yield Sample(make(3, dtype="int32"), np.dtype("float32")).not_in_torch()


@samples("_to_integer")
def integral(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([0.5, -1.5, 3.0]), np.dtype("int64")).not_in_torch()
    yield Sample(np.array([0.0, 2.0]), np.dtype("bool")).not_in_torch()
