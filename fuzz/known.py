"""Differences from PyTorch that are decided, or that are PyTorch's own, each with its reason. All others are reported."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Known = Callable[[Any, Any, Any], bool]  # of the difference, and what each library gave

KNOWN: list[tuple[str, Known]] = []


def known(reason: str) -> Callable[[Known], Known]:
    def add(test: Known) -> Known:
        KNOWN.append((reason, test))
        return test

    return add


def excused(difference: Any, theirs: Any, ours: Any) -> str:
    """The reason why a difference is none, or nothing."""
    return next((reason for reason, test in KNOWN if test(difference, theirs, ours)), "")


@known("PyTorch has no kernel for this dtype; adjoint computes the result")
def other_dtypes(difference: Any, theirs: Any, ours: Any) -> bool:
    text = getattr(theirs, "text", "")
    return difference.what == "PyTorch raises" and bool(re.search(r"not implemented for '", text))


@known("PyTorch leaves a gradient undefined that is zero; adjoint gives zeros")
def zeros_for_none(difference: Any, theirs: Any, ours: Any) -> bool:
    return theirs is None and getattr(ours, "values", None) is not None and not ours.values.any()


@known("PyTorch fails an assertion of its own")
def internal_assertions(difference: Any, theirs: Any, ours: Any) -> bool:
    return "INTERNAL ASSERT FAILED" in getattr(theirs, "text", "")
