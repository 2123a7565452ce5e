"""Memory that nobody has written to yet. In deterministic mode it is filled, so that a program that reads it does so alike every time."""

from __future__ import annotations

from typing import Any

import numpy as np

on = False  # whether it is filled now: asked by what makes such memory
settings = {"deterministic": False, "fill": True}


def choose(**chosen: bool) -> None:
    global on
    settings.update(chosen)
    on = all(settings.values())


def marked(array: Any) -> Any:
    """A new array; where it is to be filled, with NaN, the largest integer, or True."""
    if on and array.__class__ is np.ndarray:
        kind = array.dtype.kind
        if kind in "iub":
            array[...] = True if kind == "b" else np.iinfo(array.dtype).max
        elif not array.dtype.names:
            array[...] = complex(np.nan, np.nan) if kind == "c" else np.nan
    return array


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return marked(np.empty(shape, dtype))
