"""Differences from PyTorch that are decided, or that are PyTorch's own, each with its reason. All others are reported."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

Known = Callable[[Any, Any, Any], bool]  # of the difference, and what each library gave

NO_DERIVATIVE = r"derivative for .* is not implemented|does not support automatic differentiation"
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


@known("PyTorch has no derivative there; adjoint has one")
def more_derivatives(difference: Any, theirs: Any, ours: Any) -> bool:
    return difference.what == "PyTorch raises" and bool(re.search(NO_DERIVATIVE, theirs.text))


@known("eigenvectors and singular vectors are unique up to a factor of modulus 1")
def phases(difference: Any, theirs: Any, ours: Any) -> bool:
    decomposed = re.search(r"linalg\.(eig|eigh|svd)\(|torch\.(svd|pca_lowrank|svd_lowrank)\(", difference.statement)
    if not decomposed or "differ" not in difference.what:
        return False
    return bool(np.allclose(np.abs(theirs.values), np.abs(ours.values), 1e-3, 1e-4))


@known("PyTorch's vectorised gelu is NaN at infinity, and infinite before")
def gelu(difference: Any, theirs: Any, ours: Any) -> bool:
    return "gelu(" in difference.statement and "values differ" in difference.what and not np.isfinite(theirs.values).all()


@known("PyTorch's Bessel functions have eight right digits beyond 5")
def bessel(difference: Any, theirs: Any, ours: Any) -> bool:
    return bool(re.search(r"bessel_[jy]|airy", difference.statement)) and np.allclose(theirs.values, ours.values, 1e-5, 1e-7)


@known("PyTorch's antialiased interpolation is wrong for images of width 1")
def antialias(difference: Any, theirs: Any, ours: Any) -> bool:
    return "antialias=True" in difference.statement and 1 in theirs.shape[-2:]


@known("PyTorch reads beyond the memory of an expanded tensor")
def nanmedian(difference: Any, theirs: Any, ours: Any) -> bool:
    return "nanmedian(" in difference.statement and "values differ" in difference.what
