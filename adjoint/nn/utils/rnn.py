"""Sequences of different lengths in one tensor: padded with zeros, or packed without gaps.

A packed sequence has the first elements of all sequences, then the second ones, and so on. `batch_sizes` says how many there are of each:
all sequences have a first element, fewer have a second. So they are sorted, the longest first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Self, cast

import numpy as np

from ..._from_data import from_numpy, tensor
from ..._state import get_mode
from ..._tensor import Tensor, wrap
from ...ops import _several
from ...ops.join import stack

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence",
    "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """Sequences of different lengths without gaps. `pack_padded_sequence` and `pack_sequence` make them.

    `sorted_indices` is how the sequences were sorted, None if they came so; `unsorted_indices` undoes it.
    """

    def __new__(
        cls, data: Any, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None, unsorted_indices: Tensor | None = None
    ) -> Self:
        if batch_sizes is None:
            if not (isinstance(data, list | tuple) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2: the data and the batch sizes")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. They should be "
                "instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn."
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, cast(Tensor, batch_sizes), sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """With data of another dtype or device; itself if nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        kwargs = {name: value for name, value in kwargs.items() if name not in ("device", "dtype")}
        indices = (None if x is None else x.to(data.device, **kwargs) for x in (self.sorted_indices, self.unsorted_indices))
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        return self.to(*args, device="cpu", **kwargs)

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        return self.to(*args, device="cuda", **kwargs)

    def pin_memory(self) -> Self:
        return type(self)(self.data.pin_memory(), *self[1:])

    def double(self) -> Self:
        return self._as("float64")

    def float(self) -> Self:
        return self._as("float32")

    def half(self) -> Self:
        return self._as("float16")

    def long(self) -> Self:
        return self._as("int64")

    def int(self) -> Self:
        return self._as("int32")

    def short(self) -> Self:
        return self._as("int16")

    def char(self) -> Self:
        return self._as("int8")

    def byte(self) -> Self:
        return self._as("uint8")

    def _as(self, name: str) -> Self:
        from ..._dtype import PUBLIC

        return self.to(dtype=PUBLIC[name])

    @property
    def is_cuda(self) -> bool:
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        return self.data.is_pinned()

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"PackedSequence({fields})"


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another.

    >>> import adjoint as ad
    >>> ad.nn.utils.rnn.invert_permutation(ad.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    return None if permutation is None else permutation.argsort()


# ---- packed -------------------------------------------------------------------------------------------------------------------------

Lengths = tuple[int, ...]


@lru_cache(maxsize=64)
def _places(batch_sizes: Lengths) -> tuple[np.ndarray, np.ndarray]:
    """For each row of packed data: its step, and its sequence."""
    steps = np.repeat(np.arange(len(batch_sizes)), batch_sizes)
    samples = np.concatenate([np.arange(size) for size in batch_sizes])
    return steps, samples


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Take the padding out of (longest, sequences, ...), or of (sequences, longest, ...) with `batch_first`.

    >>> import adjoint as ad
    >>> padded = ad.tensor([[1, 4], [2, 5], [3, 0]])
    >>> ad.nn.utils.rnn.pack_padded_sequence(padded, [3, 2]).data
    tensor([1, 4, 2, 5, 3])
    """
    sizes = lengths if isinstance(lengths, Tensor) else tensor(lengths).long()
    order = None
    if not enforce_sorted:
        sizes, order = sizes.long().sort(descending=True)
        input = input.index_select(0 if batch_first else 1, order)
    if sizes.ndim != 1:
        kind = f"{sizes.ndim}D cpu {sizes.dtype.scalar_name} tensor"
        raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {kind}")
    known: list[int] = sizes.long().tolist()
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if batch_first:
        input = input.transpose(0, 1)
    _check_lengths(known, input.size(0), input.size(1))
    batch_sizes = np.sum(np.asarray(known)[None, :] > np.arange(known[0])[:, None], axis=1)
    steps, samples = _places(tuple(batch_sizes.tolist()))
    return PackedSequence(input[from_numpy(steps), from_numpy(samples)], from_numpy(batch_sizes), order, None)


def _check_lengths(lengths: list[int], longest: int, samples: int) -> None:
    if len(lengths) != samples:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={samples})")
    if min(lengths) <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if sorted(lengths, reverse=True) != lengths:
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` to "
            "pack_padded_sequence and/or pack_sequence, which then sort the sequences and remember their order."
        )
    if lengths[0] > longest:
        raise RuntimeError(f"Expected lengths of at most {longest}, the length of the padded sequences, but got {lengths[0]}")


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded sequences and their lengths.

    >>> import adjoint as ad
    >>> rnn = ad.nn.utils.rnn
    >>> rnn.pad_packed_sequence(rnn.pack_sequence([ad.tensor([1, 2, 3]), ad.tensor([4, 5])]))[0]
    tensor([[1, 4],
            [2, 5],
            [3, 0]])
    """
    data, sizes = sequence.data, tuple(sequence.batch_sizes.tolist())
    longest = len(sizes)
    if not longest:
        raise RuntimeError("batch_sizes can not be empty")
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    steps, samples = _places(sizes)
    shape = (total_length or longest, sizes[0], *data.shape[1:])
    padded = data.new_full(shape, padding_value).index_put((from_numpy(steps), from_numpy(samples)), data)
    lengths = from_numpy(np.bincount(samples, minlength=sizes[0]))
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices]
    return padded.transpose(0, 1) if batch_first else padded, lengths


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of different lengths."""
    lengths = tensor([v.size(0) for v in sequences]).long()
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of which `pack_sequence` made this."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


# ---- padded -------------------------------------------------------------------------------------------------------------------------


def pad_sequence(
    sequences: Tensor | Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Stack sequences of different lengths, with `padding_value` after the short ones (or before them).

    >>> import adjoint as ad
    >>> ad.nn.utils.rnn.pad_sequence([ad.tensor([1, 2]), ad.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    parts = list(sequences)
    if not parts:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    arrays = _several.plain_arrays(parts) if get_mode() < 2 else None
    alike = arrays is not None and arrays[0].ndim and all(array.shape[1:] == arrays[0].shape[1:] for array in arrays)
    if arrays is not None and alike and _several.edges_of(parts) is None:  # nothing to differentiate, as when a batch is put together
        return _filled(arrays, batch_first, padding_value, padding_side == "left")
    if parts[0].ndim == 0:
        raise RuntimeError("pad_sequence: every sequence needs at least one dimension, its length")
    rest = parts[0].shape[1:]
    odd = next((part for part in parts if part.shape[1:] != rest), None)
    if odd is not None:
        place = next((i for i, (a, b) in enumerate(zip(rest, odd.shape[1:], strict=False)) if a != b), 0)
        raise RuntimeError(
            f"The size of tensor a ({(*rest, 0)[place]}) must match the size of tensor b ({(*odd.shape[1:], 0)[place]}) at non-singleton "
            f"dimension {place + 1}: sequences may differ in their first dimension only"
        )
    longest = max(part.size(0) for part in parts)
    padded = [_padded(part, longest - part.size(0), padding_value, padding_side) for part in parts]
    return cast(Tensor, stack(padded, 0 if batch_first else 1))


def _filled(arrays: list[Any], batch_first: bool, value: float, left: bool) -> Tensor:
    longest = max(map(len, arrays))
    sizes = (len(arrays), longest) if batch_first else (longest, len(arrays))
    out = np.full((*sizes, *arrays[0].shape[1:]), value, arrays[0].dtype)
    rows = out if batch_first else out.swapaxes(0, 1)
    for row, array in zip(rows, arrays, strict=True):
        row[longest - len(array) if left else 0 : longest if left else len(array)] = array
    return wrap(out)


def _padded(sequence: Tensor, missing: int, value: float, side: str) -> Tensor:
    from .. import functional as F

    pad: Callable[..., Tensor] = F.pad
    sides = (missing, 0) if side == "left" else (0, missing)
    return pad(sequence, [0] * (2 * (sequence.ndim - 1)) + list(sides), value=value) if missing else sequence


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences without their padding, each of its length."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [sequence[:length] for sequence, length in zip(padded_sequences, lengths.tolist(), strict=False)]
