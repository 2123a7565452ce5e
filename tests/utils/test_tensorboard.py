"""Event files, read back record by record."""

from __future__ import annotations

import struct

import pytest

import adjoint as ad
from adjoint.utils.tensorboard import SummaryWriter
from adjoint.utils.tensorboard.writer import masked_checksum


def records(path):
    content = path.read_bytes()
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        body = content[12 : 12 + length]
        assert struct.unpack("<I", content[8:12])[0] == masked_checksum(content[:8])
        assert struct.unpack("<I", content[12 + length : 16 + length])[0] == masked_checksum(body)
        yield body
        content = content[16 + length :]


def only_file(folder):
    (path,) = (path for path in folder.iterdir() if path.is_file())
    return path


def test_checksum():
    crc = 0xE3069283  # of "123456789", from the definition of CRC-32C
    assert masked_checksum(b"123456789") == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_scalars(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        assert writer.get_logdir() == str(tmp_path)
        writer.add_scalar("loss", ad.tensor(0.5), 300, walltime=2.0)
        writer.add_scalars("both/of", {"train": 1, "test": 2}, 1, walltime=2.0)
    first, second = records(only_file(tmp_path))
    assert first.endswith(b"\x1a\x0dbrain.Event:2")
    step = b"\x10\xac\x02"
    value = b"\x0a\x04loss\x15" + struct.pack("<f", 0.5)
    assert second == b"\x09" + struct.pack("<d", 2.0) + step + b"\x2a\x0d\x0a\x0b" + value
    (_, test) = records(only_file(tmp_path / "both_of_test"))
    assert test.endswith(b"\x0a\x07both/of\x15" + struct.pack("<f", 2))


def test_histograms_and_texts(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("weights", ad.tensor([1.0, 2.0, 4.0]), 1, bins=3)
        writer.add_text("note", "hello", 1)
        with pytest.raises(ValueError, match="The input has no element"):
            writer.add_histogram("weights", ad.ones(0))
    _, histogram, text = records(only_file(tmp_path))
    facts = b"".join(bytes([place << 3 | 1]) + struct.pack("<d", fact) for place, fact in enumerate((1, 4, 3, 7, 21), 1))
    limits, counts = struct.pack("<3d", 2, 3, 4), struct.pack("<3d", 1, 1, 1)
    assert histogram.endswith(b"\x0a\x07weights" + b"\x2a\x61" + facts + b"\x32\x18" + limits + b"\x3a\x18" + counts)
    assert b"note/text_summary" in text
    assert text.endswith(b"\x42\x05hello" + b"\x4a\x08\x0a\x06\x0a\x04text")


def test_flush_and_refusal(tmp_path):
    writer = SummaryWriter(tmp_path)
    with pytest.raises(ValueError, match="only one element tensors"):
        writer.add_scalar("x", ad.ones(2))
    writer.add_scalar("x", 1.0)
    writer.flush()
    assert len(list(records(only_file(tmp_path)))) == 2
    writer.close()
