"""Padded and packed sequences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjoint as ad
from adjoint.nn.utils import rnn

PADDED = ad.tensor([[1.0, 4.0, 6.0], [2.0, 5.0, 0.0], [3.0, 0.0, 0.0]])


def test_pack_and_pad():
    packed = rnn.pack_padded_sequence(PADDED, [3, 2, 1])
    assert packed.data.tolist() == [1, 4, 6, 2, 5, 3] and packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices is None and packed.unsorted_indices is None
    padded, lengths = rnn.pad_packed_sequence(packed)
    assert ad.equal(padded, PADDED) and lengths.tolist() == [3, 2, 1]
    data, batch_sizes, *_ = packed  # it is a tuple
    assert data is packed.data and batch_sizes is packed.batch_sizes


def test_options_of_padding():
    packed = rnn.pack_padded_sequence(PADDED.T, ad.tensor([3, 2, 1]), batch_first=True)
    padded, _ = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1.0, total_length=4)
    assert padded.tolist() == [[1, 2, 3, -1], [4, 5, -1, -1], [6, -1, -1, -1]]


def test_unsorted():
    packed = rnn.pack_padded_sequence(ad.tensor([[1, 4], [0, 5]]), [1, 2], enforce_sorted=False)
    assert packed.data.tolist() == [4, 1, 5]
    assert packed.sorted_indices.tolist() == [1, 0] and packed.unsorted_indices.tolist() == [1, 0]
    padded, lengths = rnn.pad_packed_sequence(packed)
    assert padded.tolist() == [[1, 4], [0, 5]] and lengths.tolist() == [1, 2]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.integers(0, 2))
def test_packing_can_be_undone(lengths, extra):
    rng = np.random.default_rng(len(lengths))
    sequences = [ad.from_numpy(rng.standard_normal((n, *(2,) * extra))) for n in lengths]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    assert len(packed.data) == sum(lengths) == int(packed.batch_sizes.sum())
    for ours, wanted in zip(rnn.unpack_sequence(packed), sequences, strict=True):
        assert ad.equal(ours, wanted)
    padded = rnn.pad_sequence(sequences)
    for ours, wanted in zip(rnn.unpad_sequence(padded, ad.tensor(lengths)), sequences, strict=True):
        assert ad.equal(ours, wanted)


def test_gradients_go_through():
    x = ad.randn(4, 3, 2, requires_grad=True)
    packed = rnn.pack_padded_sequence(x, [4, 2, 1])
    padded, _ = rnn.pad_packed_sequence(packed)
    (padded * padded).sum().backward()
    inside = (ad.arange(4)[:, None] < ad.tensor([4, 2, 1])).unsqueeze(2)
    assert ad.allclose(x.grad, 2 * x.detach() * inside)


def test_pad_sequence():
    parts = [ad.tensor([1, 2, 3]), ad.tensor([4])]
    assert rnn.pad_sequence(parts).tolist() == [[1, 4], [2, 0], [3, 0]]
    assert rnn.pad_sequence(parts, batch_first=True, padding_value=9).tolist() == [[1, 2, 3], [4, 9, 9]]
    assert rnn.pad_sequence(parts, batch_first=True, padding_side="left").tolist() == [[1, 2, 3], [0, 0, 4]]
    assert rnn.pad_sequence(ad.ones(3, 2)).shape == (2, 3)


def test_converting_packed_sequences():
    packed = rnn.pack_padded_sequence(PADDED, [3, 2, 1])
    assert packed.to(ad.float32) is packed and packed.cpu() is packed
    assert not packed.is_cuda and not packed.is_pinned()
    for method in ("double", "float", "half", "long", "int", "short", "char", "byte"):
        other = getattr(packed, method)()
        assert isinstance(other, rnn.PackedSequence) and other.data.dtype == getattr(PADDED, method)().dtype
        assert other.batch_sizes is packed.batch_sizes
    assert repr(packed).startswith("PackedSequence(data=tensor([1., 4., 6., 2., 5., 3.]), batch_sizes=tensor([3, 2, 1]), ")


def test_making_packed_sequences():
    made = rnn.PackedSequence(ad.ones(3), ad.tensor([2, 1]), sorted_indices=ad.tensor([1, 0]))
    assert made.unsorted_indices.tolist() == [1, 0]
    pair = rnn.PackedSequence((ad.ones(3), ad.tensor([2, 1])))
    assert pair.batch_sizes.tolist() == [2, 1]
    assert rnn.invert_permutation(None) is None


ERRORS = [
    (RuntimeError, "^`lengths` array must be sorted in decreasing order", lambda: rnn.pack_padded_sequence(PADDED, [1, 2, 3])),
    (RuntimeError, "^Length of all samples has to be greater than 0", lambda: rnn.pack_padded_sequence(PADDED, [3, 2, 0])),
    (RuntimeError, r"^Expected `len\(lengths\)` to be equal to batch_size, but got 2", lambda: rnn.pack_padded_sequence(PADDED, [3, 2])),
    (RuntimeError, "^Expected lengths of at most 3", lambda: rnn.pack_padded_sequence(PADDED, [4, 2, 1])),
    (RuntimeError, "^Cannot pack empty tensors", lambda: rnn.pack_padded_sequence(ad.ones(0, 3, 2), [1, 1, 1])),
    (IndexError, "^Dimension out of range", lambda: rnn.pack_padded_sequence(ad.ones(4), [1])),
    (ValueError, "^Expected total_length to be at least the length of the longest sequence",
     lambda: rnn.pad_packed_sequence(rnn.pack_padded_sequence(PADDED, [3, 2, 1]), total_length=2)),
    (AssertionError, "^Expected data to be a list or tuple of length 2", lambda: rnn.PackedSequence(ad.ones(3))),
    (ValueError, "^batch_sizes should always be on CPU", lambda: rnn.PackedSequence(ad.ones(3), ad.ones(2, device="meta"))),
    (RuntimeError, "^received an empty list of sequences", lambda: rnn.pad_sequence([])),
    (RuntimeError, "^received an empty list of sequences", lambda: rnn.pack_sequence([])),
    (RuntimeError, "^pad_sequence: Expected iterable for input sequences", lambda: rnn.pad_sequence(3)),
    (RuntimeError, "^Expected padding_side to be one of left or right", lambda: rnn.pad_sequence([PADDED], padding_side="foo")),
    (RuntimeError, r"^The size of tensor a \(2\) must match the size of tensor b \(3\) at non-singleton dimension 1",
     lambda: rnn.pad_sequence([ad.ones(3, 2), ad.ones(2, 3)])),
    (RuntimeError, "^pad_sequence: every sequence needs at least one dimension", lambda: rnn.pad_sequence(ad.ones(3))),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "message", "call"), ERRORS, ids=[message for _, message, _ in ERRORS])
def test_errors(kind, message, call):
    with pytest.raises(kind, match=message):
        call()


def test_sizes_that_are_not_lists_of_sequences_are_refused():
    with pytest.raises(RuntimeError, match="batch_sizes can not be empty"):
        rnn.pad_packed_sequence(rnn.PackedSequence(ad.empty(0), ad.tensor([], dtype=ad.int64)))
    with pytest.raises(RuntimeError, match="'lengths' argument should be a 1D CPU int64 tensor, but got 2D cpu Long tensor"):
        rnn.pack_padded_sequence(ad.ones(2, 1), ad.tensor([[2]]))
