"""The records of an event file: length, checksum, content, checksum. A content is a small protocol buffer, encoded here by hand."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

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


def varint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, content: bytes) -> bytes:
    """A text or a nested message."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def event(when: float, step: int, rest: bytes) -> bytes:
    return b"\x09" + struct.pack("<d", when) + b"\x10" + varint(step) + rest


def summary(tag: str, value: bytes) -> bytes:
    return field(5, field(1, field(1, tag.encode()) + value))


def scalar(value: float) -> bytes:
    return b"\x15" + struct.pack("<f", value)


def histogram(values: Any, bins: int) -> bytes:
    values = values.astype(np.float64).ravel()
    if not values.size:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(values, bins)
    facts = (values.min(), values.max(), values.size, values.sum(), np.square(values).sum())
    singles = b"".join(varint(number << 3 | 1) + struct.pack("<d", fact) for number, fact in enumerate(facts, 1))
    return field(5, singles + field(6, limits[1:].astype("<f8").tobytes()) + field(7, counts.astype("<f8").tobytes()))


def text(content: str) -> bytes:
    one = field(2, b"\x08\x01")  # the shape of a vector with one element
    return field(8, b"\x08\x07" + field(2, one) + field(8, content.encode())) + field(9, field(1, field(1, b"text")))


def image(height: int, width: int, channels: int, encoded: bytes) -> bytes:
    facts = b"".join(varint(number << 3) + varint(fact) for number, fact in enumerate((height, width, channels), 1))
    return field(4, facts + field(4, encoded))


def precision_recall(labels: Any, predictions: Any, thresholds: int, weights: Any) -> bytes:
    """True and false positives and negatives, precision and recall at each of the thresholds between 0 and 1."""
    labels, predictions = labels.astype(np.float64).ravel(), predictions.astype(np.float64).ravel()
    weights = np.broadcast_to(1.0 if weights is None else weights, labels.shape)
    places = np.floor(predictions * (thresholds - 1)).astype(np.int64)
    positive = np.bincount(places, labels * weights, thresholds)[::-1].cumsum()[::-1]
    negative = np.bincount(places, (1 - labels) * weights, thresholds)[::-1].cumsum()[::-1]
    missed = positive[0] - positive
    precision, recall = (positive / np.maximum(1e-7, positive + other) for other in (negative, missed))
    rows = np.stack([positive, negative, negative[0] - negative, missed, precision, recall])
    shape = b"".join(field(2, b"\x08" + varint(length)) for length in rows.shape)
    tensor = field(8, b"\x08\x01" + field(2, shape) + field(5, rows.astype("<f4").tobytes()))
    return tensor + field(9, field(1, field(1, b"pr_curves") + field(2, b"\x10" + varint(thresholds))))
