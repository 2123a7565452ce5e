"""Event files, read back record by record."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

import adjoint as ad
from adjoint.utils.tensorboard import SummaryWriter
from adjoint.utils.tensorboard._events import masked_checksum


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


def unpacked(body, width):
    """The bytes of the picture in a PNG file inside a record."""
    start = body.index(b"IDAT")
    (length,) = struct.unpack(">I", body[start - 4 : start])
    lines = np.frombuffer(zlib.decompress(body[start + 4 : start + 4 + length]), np.uint8).reshape(-1, 1 + 3 * width)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(len(lines), width, 3)


def test_images(tmp_path):
    bright = ad.tensor([[[0.0, 0.5], [1.0, 2.0]]])
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("one", bright, 1)
        writer.add_image("bytes", np.arange(18, dtype=np.uint8).reshape(2, 3, 3), 1, dataformats="HWC")
        writer.add_images("several", bright.expand(9, 1, 2, 2), 1)
        with pytest.raises(AssertionError, match="size of input tensor and input format are different"):
            writer.add_image("flat", ad.ones(2, 2))
    _, one, several_channels, several = records(only_file(tmp_path))
    assert b"\x08\x02\x10\x02\x18\x03\x22" in one  # height, width, channels, file
    assert unpacked(one, 2)[..., 0].tolist() == [[0, 127], [255, 255]]
    assert unpacked(several_channels, 3).ravel().tolist() == list(range(18))
    grid = unpacked(several, 16)[..., 2]
    assert grid.shape == (4, 16) and grid[2:, :2].tolist() == [[0, 127], [255, 255]] and not grid[2:, 2:].any()


def test_curves_of_precision_and_recall(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_pr_curve("pr", ad.tensor([1, 0, 1]), ad.tensor([0.9, 0.6, 0.2]), 1, num_thresholds=3)
    _, curve = records(only_file(tmp_path))
    start = curve.index(b"\x2a\x48") + 2
    rows = np.frombuffer(curve[start : start + 72], "<f4").reshape(6, 3)
    assert rows[:4].tolist() == [[2, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 2]]
    np.testing.assert_allclose(rows[4:], [[2 / 3, 0.5, 0], [1, 0.5, 0]], rtol=1e-6)
    assert curve.endswith(b"\x0a\x09pr_curves\x12\x02\x10\x03")


def test_settings_and_points(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1}, {"accuracy": 0.5}, run_name="trial")
        writer.add_embedding(ad.eye(2), ["a", "b"], global_step=3, tag="words")
        with pytest.raises(AssertionError, match="#labels should equal"):
            writer.add_embedding(ad.eye(2), ["a"])
    _, table, accuracy = records(only_file(tmp_path / "trial"))
    assert b"| lr | 0.1 |" in table and accuracy.endswith(b"accuracy\x15" + struct.pack("<f", 0.5))
    assert (tmp_path / "00003" / "words" / "tensors.tsv").read_text() == "1.0\t0.0\n0.0\t1.0\n"
    assert (tmp_path / "00003" / "words" / "metadata.tsv").read_text() == "a\nb\n"
    assert 'tensor_path: "00003/words/tensors.tsv"' in (tmp_path / "projector_config.pbtxt").read_text()


def fields(message):
    """The fields of an encoded message: numbers and what they hold, in their order."""
    at, found = 0, []

    def number():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = number()
        if key & 7 == 0:
            found.append((key >> 3, number()))
        else:
            length = {1: 8, 5: 4}.get(key & 7) or number()
            found.append((key >> 3, message[at : at + length]))
            at += length
    return found


def test_graphs(tmp_path, capsys):
    nn = ad.nn
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, ad.ones(5, 3), verbose=True)
        with pytest.raises(TypeError, match=r"writer.add_graph\(model, x\)"):
            writer.add_graph(model)
    assert "digraph" in capsys.readouterr().out
    _, event = records(only_file(tmp_path))
    (graph,) = [content for number, content in fields(event) if number == 4]
    nodes = {}
    for node in (fields(content) for number, content in fields(graph) if number == 1):
        name, kind = dict(node)[1].decode(), dict(node)[2].decode()
        shapes = [fields(dict(fields(content))[2]) for number, content in node if number == 5 and b"_output_shapes" in content]
        sizes = [dict(fields(size))[1] for _, size in fields(fields(shapes[0][0][1])[0][1])]
        nodes[name] = (kind, [content.decode() for number, content in node if number == 3], sizes)
    prefix = "Sequential"
    assert nodes[f"{prefix}/0/weight"] == ("Parameter", [], [4, 3])
    assert nodes[f"{prefix}/0/addmm"][1] == [f"{prefix}/0/weight", f"{prefix}/0/bias", f"{prefix}/0/input"]
    assert nodes[f"{prefix}/relu"] == ("ReluBackward0", [f"{prefix}/0/addmm"], [5, 4])
    assert nodes[f"{prefix}/2/addmm"][2] == [5, 2]
    assert len(nodes) == 8
    assert all(source in nodes for _, sources, _ in nodes.values() for source in sources)


def test_flush_and_refusal(tmp_path):
    writer = SummaryWriter(tmp_path)
    with pytest.raises(ValueError, match="only one element tensors"):
        writer.add_scalar("x", ad.ones(2))
    writer.add_scalar("x", 1.0)
    writer.flush()
    assert len(list(records(only_file(tmp_path)))) == 2
    writer.close()
