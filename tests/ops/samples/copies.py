"""Samples of the functions named `..._copy`, of splits into copies, and of other names that are rarely used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.ops.samples import Make, Sample, samples

CALLS: dict[str, tuple[Any, ...]] = {
    "alias_copy": (),
    "as_strided_copy": ((2, 2), (1, 2), 1),
    "detach_copy": (),
    "diagonal_copy": (1, 0, 1),
    "expand_copy": ((3, 2, 4),),
    "permute_copy": ((1, 0),),
    "select_copy": (1, 2),
    "slice_copy": (1, 1, 4, 2),
    "split_copy": (1,),
    "split_with_sizes_copy": ((1, 3), 1),
    "squeeze_copy": (0,),
    "t_copy": (),
    "transpose_copy": (0, 1),
    "unbind_copy": (1,),
    "unfold_copy": (1, 2, 1),
    "unsafe_chunk": (2, 1),
    "unsafe_split": (3, 1),
    "unsafe_split_with_sizes": ((1, 3), 1),
    "unsqueeze_copy": (0,),
    "view_copy": ((4, 2),),
}

for _name, _arguments in CALLS.items():

    @samples(_name, ours=_name)
    def copied(make: Make, arguments: tuple[Any, ...] = _arguments) -> Iterator[Sample]:
        # `as_strided` reads the memory of its input, so it depends on the layout.
        sample = Sample(make(2, 4), *arguments).only_contiguous()
        yield sample.no_gradient() if make.name == "detach_copy" else sample


@samples("view_as_real_copy", ours="view_as_real_copy")
def complex_parts(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, dtype="complex128"))


@samples("view_as_complex_copy", ours="view_as_complex_copy")
def complex_whole(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 2)).only_contiguous().gradient_differs()  # PyTorch has none


@samples("nonzero_static")
def rows_of_places(make: Make) -> Iterator[Sample]:
    x = np.array([[0.0, 1.0], [2.0, 0.0]])
    yield Sample(x, size=1)
    yield Sample(x, size=4, fill_value=-7)


@samples("hash_tensor")
def checksums(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make(3, 4), 1, keepdim=True)
    yield Sample(make(3, 4, dtype="int64"), [0, 1])


@samples("segment_reduce", ours="segment_reduce")
def segments(make: Make) -> Iterator[Sample]:
    lengths = np.array([2, 0, 3])
    for how in ("sum", "mean", "prod", "max", "min"):
        yield Sample(make.distinct(5, 2), how, lengths=lengths, initial=1.0).gradient_differs()  # it shares a tie with `initial` otherwise
        yield Sample(make.distinct(2, 4), how, lengths=np.array([[1, 3], [2, 2]]), axis=1)
    yield Sample(make.distinct(5), "sum", offsets=np.array([0, 2, 5]))


@samples("is_same_size")
def shapes(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2, 3))
    yield Sample(make(2, 3), make(3, 2))
