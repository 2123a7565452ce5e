"""safetensors and npz files: round trips, the bytes of the format, damaged files."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile

import numpy as np
import pytest

import adjoint as ad


def write(path, header, content=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + content)
    return path


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def test_round_trip(tmp_path):
    tensors = {
        "flags": ad.tensor([True, False, True]),
        "transposed": ad.arange(6.0).reshape(2, 3).t(),
        "wide": ad.tensor([1, 2**40]),
        "scalar": ad.tensor(2.5, dtype=ad.float16),
        "empty": ad.ones(0, 3),
        "weight": ad.nn.Parameter(ad.ones(2)),
    }
    ad.io.save_safetensors(tensors, tmp_path / "x.safetensors", metadata={"format": "pt"})
    got = ad.io.load_safetensors(tmp_path / "x.safetensors")
    assert {name: (x.dtype, x.shape, x.tolist()) for name, x in got.items()} == {
        name: (x.dtype, x.shape, x.tolist()) for name, x in tensors.items()
    }
    got["wide"][0] = 0  # the memory is ours to write to
    text = (tmp_path / "x.safetensors").read_bytes()
    header = json.loads(text[8 : 8 + struct.unpack("<Q", text[:8])[0]])
    assert header["__metadata__"] == {"format": "pt"}
    assert header["wide"] == {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]}


def test_a_file_by_hand(tmp_path):
    path = write(tmp_path / "x", {"a": entry(), "b": entry("U8", (1,), (8, 9))}, struct.pack("<ff", 1, 2) + b"\x07")
    assert {name: x.tolist() for name, x in ad.io.load_safetensors(path).items()} == {"a": [1, 2], "b": [7]}


@pytest.mark.parametrize(
    ("header", "content", "message"),
    [
        (b"[" * 200_000, b"", "header cannot be read"),
        (b"{", b"", "header cannot be read"),
        (b"[]", b"", "no table"),
        (b'{"a":1,"a":2}', b"", "appears twice"),
        ({"a": 3}, b"", "incomplete"),
        ({"a": entry("X9")}, b"\0" * 8, "unknown type"),
        ({"a": entry(offsets=(0, 4))}, b"\0" * 4, "do not fit its shape"),
        ({"a": entry(shape=(-2,))}, b"\0" * 8, "impossible"),
        ({"a": entry(shape=(2**61,), offsets=(0, 2**63))}, b"", "impossible"),
        ({"a": entry(shape=(2**40,), offsets=(0, 2**42))}, b"", "there are 0"),
        ({"a": entry(), "b": entry()}, b"\0" * 8, "overlap"),
        ({"a": entry(offsets=(8, 16))}, b"\0" * 16, "leave gaps"),
        ({"a": entry()}, b"\0" * 9, "there are 9"),
        ({"a": entry()}, b"\0" * 7, "there are 7"),
    ],
)
def test_damaged_files(tmp_path, header, content, message):
    with pytest.raises(RuntimeError, match=message):
        ad.io.load_safetensors(write(tmp_path / "x", header, content))


@pytest.mark.parametrize("content", [b"", b"abc", b"\xff" * 8, b"\xff" * 100])
def test_files_without_a_header(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(RuntimeError, match="no safetensors file"):
        ad.io.load_safetensors(tmp_path / "x")


def test_types_that_the_format_lacks(tmp_path):
    with pytest.raises(TypeError, match=r"'z' is torch\.complex128"):
        ad.io.save_safetensors({"z": ad.ones(1, dtype=ad.complex128)}, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


# ---- npz ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compressed", [False, True])
def test_npz_round_trip(tmp_path, compressed):
    tensors = {"a": ad.arange(6.0).view(2, 3), "b": ad.tensor(3), "c": ad.zeros(0, 2), "d": ad.tensor([True]), "e": ad.tensor([1 + 2j])}
    ad.io.save_npz(tensors, tmp_path / "x.npz", compressed=compressed)
    loaded = ad.io.load_npz(tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as same:
        for name, tensor in tensors.items():
            assert ad.equal(loaded[name], tensor) and loaded[name].dtype == tensor.dtype
            assert np.array_equal(same[name], tensor.numpy())
    loaded["a"].add_(1)


def test_npz_in_fortran_order_and_other_byte_order(tmp_path):
    array = np.arange(6.0).reshape(2, 3)
    np.savez(tmp_path / "x.npz", f=np.asfortranarray(array), big=array.astype(">f4"))
    loaded = ad.io.load_npz(tmp_path / "x.npz")
    assert loaded["f"].tolist() == loaded["big"].tolist() == array.tolist()
    assert loaded["big"].dtype == ad.float32


def npz(content, name="a.npy", **options):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr(name, content, **options)
    return buffer.getvalue()


def npy(header, content=b""):
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a zip file"),
        (b"PK\x03\x04" * 10, "not a zip file"),
        (npz(b""), "a.npy"),
        (npz(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2**62,)}")), "cannot be read"),
        (npz(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}")), "do not fit its shape"),
        (npz(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", b"abcd")), "do not fit|another size|cannot be read"),
        (npz(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", b"abcd")), "do not fit|another size"),
        (npz(npy("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", b"abcdefgh")), "another size"),
        (npz(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", pickle.dumps([1]))), "no type of tensors"),
        (npz(npy("[" * 5000)), "cannot be read"),
        (npz(b"x" * 100), "cannot be read"),
    ],
)
def test_damaged_npz(tmp_path, content, message):
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(RuntimeError, match=message):
        ad.io.load_npz(tmp_path / "x.npz")


def test_every_truncation_of_an_npz_is_an_error(tmp_path):
    path = tmp_path / "x.npz"
    ad.io.save_npz({"a": ad.arange(4.0)}, path)
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(RuntimeError, match="load_npz"):
            ad.io.load_npz(path)


def test_npz_has_no_bfloat16(tmp_path):
    with pytest.raises(TypeError, match="NumPy does not have"):
        ad.io.save_npz({"a": ad.ones(1).bfloat16()}, tmp_path / "x.npz")
