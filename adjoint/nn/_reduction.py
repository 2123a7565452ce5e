"""Reductions of losses by name and by number, as losses of one's own ask for them."""

from __future__ import annotations

from ..ops._loss import REDUCTIONS, legacy_get_string, reduction_of

__all__ = ["get_enum", "legacy_get_enum", "legacy_get_string"]


def get_enum(reduction: str) -> int:
    """The number of a reduction: 0 for "none", 1 for "mean", 2 for "sum"."""
    return REDUCTIONS.index(reduction_of(None, None, reduction))


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of the reduction that is asked for in the old way."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
