"""Pictures out of tensors, and PNG files out of pictures."""

from __future__ import annotations

import math
import struct
import zlib
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_COLUMNS = 8  # of a grid of several pictures


def as_picture(data: Array, dataformats: str) -> Array:
    """Bytes by height, width and channel. Of several pictures (N in `dataformats`) a grid; floating numbers count from 0 to 1."""
    formats = dataformats.upper()
    if len(formats) != data.ndim or len(set(formats)) != data.ndim or not {"H", "W"} <= set(formats) <= set("NCHW"):
        raise AssertionError(
            f"size of input tensor and input format are different. tensor shape: {data.shape}, input_format: {dataformats}"
        )
    if data.dtype != np.uint8:
        data = np.clip(data.astype(np.float32) * 255, 0, 255).astype(np.uint8)
    if "C" not in formats:
        data, formats = data[..., None], formats + "C"
    if "N" in formats:
        return _grid(data.transpose([formats.index(name) for name in "NHWC"]))
    return _coloured(data.transpose([formats.index(name) for name in "HWC"]))


def _coloured(picture: Array) -> Array:
    return np.repeat(picture, 3, axis=-1) if picture.shape[-1] == 1 else picture


def _grid(pictures: Array) -> Array:
    count, height, width, channels = pictures.shape
    columns = min(count, _COLUMNS)
    rows = math.ceil(count / columns)
    padded = np.zeros((rows * columns, height, width, channels), np.uint8)
    padded[:count] = pictures
    lines = padded.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
    return _coloured(lines.reshape(rows * height, columns * width, channels))


def png(picture: Array) -> bytes:
    """The PNG file of a picture with 3 or 4 channels."""
    height, width, channels = picture.shape
    if channels not in (3, 4):
        raise ValueError(f"a picture has 1, 3 or 4 channels, got {channels}")
    lines = np.zeros((height, 1 + width * channels), np.uint8)  # each starts with the number of its filter: none
    lines[:, 1:] = picture.reshape(height, -1)
    header = struct.pack(">2I5B", width, height, 8, 2 if channels == 3 else 6, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_part(kind, content) for kind, content in parts)


def _part(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
