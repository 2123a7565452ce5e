"""SummaryWriter: scalars, histograms and texts, in the event files that TensorBoard reads, written without TensorBoard.

An event file is a row of records (length, checksum, content, checksum); a content is a small protocol buffer, encoded here by hand.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from ..._from_data import as_tensor

_POLYNOMIAL = 0x82F63B78  # CRC-32C, which zlib does not have


def _checksum_row(value: int) -> int:
    for _ in range(8):
        value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
    return value


_CHECKSUMS = tuple(map(_checksum_row, range(256)))


def masked_checksum(content: bytes) -> int:
    """The CRC-32C of the bytes, rotated and shifted as the format of event files asks."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = _CHECKSUMS[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _varint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, content: bytes) -> bytes:
    """A text or a nested message."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _event(when: float, step: int, rest: bytes) -> bytes:
    return b"\x09" + struct.pack("<d", when) + b"\x10" + _varint(step) + rest


def _summary(tag: str, value: bytes) -> bytes:
    return _field(5, _field(1, _field(1, tag.encode()) + value))


def _scalar(value: float) -> bytes:
    return b"\x15" + struct.pack("<f", value)


def _histogram(values: Any, bins: int) -> bytes:
    values = values.astype(np.float64).ravel()
    if not values.size:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(values, bins)
    facts = (values.min(), values.max(), values.size, values.sum(), np.square(values).sum())
    singles = b"".join(_varint(number << 3 | 1) + struct.pack("<d", fact) for number, fact in enumerate(facts, 1))
    return _field(5, singles + _field(6, limits[1:].astype("<f8").tobytes()) + _field(7, counts.astype("<f8").tobytes()))


def _text(text: str) -> bytes:
    one = _field(2, b"\x08\x01")  # the shape of a vector with one element
    return _field(8, b"\x08\x07" + _field(2, one) + _field(8, text.encode())) + _field(9, _field(1, _field(1, b"text")))


class _EventFile:
    def __init__(self, folder: Path, suffix: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        name = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}.{time.monotonic_ns()}{suffix}"
        self._file = (folder / name).open("ab")
        self.write(_event(now, 0, _field(3, b"brain.Event:2")))

    def write(self, content: bytes) -> None:
        length = struct.pack("<Q", len(content))
        checks = struct.pack("<I", masked_checksum(length)), struct.pack("<I", masked_checksum(content))
        self._file.write(length + checks[0] + content + checks[1])

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class SummaryWriter:
    """Writes curves, histograms and texts to a folder that TensorBoard shows: `writer.add_scalar("loss", loss, step)`."""

    def __init__(
        self, log_dir: Any = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10, flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:  # fmt: skip
        if not log_dir:
            log_dir = Path("runs") / f"{datetime.now():%b%d_%H-%M-%S}_{socket.gethostname()}{comment}"
        self.log_dir = str(log_dir)
        self._suffix = filename_suffix
        self._interval = flush_secs
        self._flushed = time.monotonic()
        self._files = {"": _EventFile(Path(self.log_dir), filename_suffix)}

    def get_logdir(self) -> str:
        """The folder that is written to."""
        return self.log_dir

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: float | None = None, new_style: bool = False,
        double_precision: bool = False,
    ) -> None:  # fmt: skip
        """Add one point to a curve."""
        self._add("", tag, _scalar(float(scalar_value)), global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Add a point to each of several curves that are shown in one diagram."""
        for tag, value in tag_scalar_dict.items():
            folder = f"{main_tag.replace('/', '_')}_{tag}"
            self._add(folder, main_tag, _scalar(float(value)), global_step, walltime)

    def add_histogram(
        self, tag: str, values: Any, global_step: int | None = None, bins: Any = "tensorflow", walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:  # fmt: skip
        """Add how values are distributed: counts in intervals of equal width (30, where `bins` is no number)."""
        data = as_tensor(values).detach().numpy()
        self._add("", tag, _histogram(data, bins if isinstance(bins, int) else 30), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None) -> None:
        """Add a text, in Markdown."""
        self._add("", f"{tag}/text_summary", _text(text_string), global_step, walltime)

    def _add(self, folder: str, tag: str, value: bytes, step: int | None, when: float | None) -> None:
        content = _summary(tag, value)
        if folder not in self._files:
            self._files[folder] = _EventFile(Path(self.log_dir) / folder, self._suffix)
        self._files[folder].write(_event(time.time() if when is None else when, int(step or 0), content))
        if time.monotonic() - self._flushed > self._interval:
            self.flush()

    def flush(self) -> None:
        """Write what is still in memory to the disk."""
        self._flushed = time.monotonic()
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
