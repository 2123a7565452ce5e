"""Samples of `torch.masked`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.samples import Make, Sample, samples

MASK = np.array([[True, False, True, True], [False, True, True, False], [True, True, True, True]])

for _name in ("sum", "prod", "amax", "amin", "mean", "var", "std", "norm", "logsumexp"):

    @samples(f"masked.{_name}", torch=f"masked.{_name}", ours=f"masked.{_name}")
    def reduced(make: Make) -> Iterator[Sample]:
        order = (3.0,) if make.name == "masked.norm" else ()
        yield Sample(make.distinct(3, 4), *order, 1, mask=MASK)
        yield Sample(make.distinct(3, 4), *order, 0, keepdim=True)
        yield Sample(make.distinct(3, 4), *order, (0, 1), mask=MASK[:1])


for _name in ("argmax", "argmin"):

    @samples(f"masked.{_name}", torch=f"masked.{_name}", ours=f"masked.{_name}")
    def found(make: Make) -> Iterator[Sample]:
        yield Sample(make.distinct(3, 4), 1, mask=MASK).no_gradient()
        yield Sample(make.distinct(3, 4), 0, keepdim=True).no_gradient()


for _name in ("softmax", "log_softmax", "softmin", "cumsum", "cumprod", "median", "normalize"):

    @samples(f"masked.{_name}", torch=f"masked.{_name}", ours=f"masked.{_name}")
    def along(make: Make) -> Iterator[Sample]:
        order = (2.0,) if make.name == "masked.normalize" else ()
        sample = Sample(make.distinct(3, 4), *order, 1, mask=MASK)
        yield sample.only_values() if make.name == "masked.log_softmax" else sample  # minus infinity where it is masked out
        yield Sample(make.distinct(3, 4), *order, 0)


@samples("masked.logaddexp", torch="masked.logaddexp", ours="masked.logaddexp")
def added(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), input_mask=MASK, other_mask=MASK | True)
    yield Sample(make(3, 4), make(3, 4))
