"""Mathematical functions as code that LLVM vectorises."""

from __future__ import annotations


def definitions(wanted: set[tuple[str, str]]) -> tuple[str, set[str]]:
    """The text of the functions asked for, as (name, "f32" or "f64"), and the intrinsics that it declares."""
    if wanted:
        raise NotImplementedError(sorted(wanted))
    return "", set()
