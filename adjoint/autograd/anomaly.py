"""Anomaly mode: backward stops at the first gradient that is not a number, and says where it was born."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from .._errors import AnomalyError
from .node import Node

_enabled = False
_check_nan = True


def is_anomaly_enabled() -> bool:
    return _enabled


def is_anomaly_check_nan_enabled() -> bool:
    return _check_nan


class set_detect_anomaly:
    """Turns anomaly mode on or off at once; as a context manager, until the end of the block."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        global _enabled, _check_nan
        self._before = _enabled, _check_nan
        _enabled, _check_nan = mode, check_nan

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        global _enabled, _check_nan
        _enabled, _check_nan = self._before


class detect_anomaly(set_detect_anomaly):
    """Anomaly mode for a block.

    >>> import adjoint as ad
    >>> import warnings
    >>> x = ad.zeros(1, requires_grad=True)
    >>> with warnings.catch_warnings(action="ignore"), ad.autograd.detect_anomaly():
    ...     (x.sqrt() * 0).sum().backward()
    Traceback (most recent call last):
    ...
    adjoint._errors.AnomalyError: Function 'SqrtBackward0' returned nan values in its 0th output...
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(_enabled, _check_nan)
        self._wanted = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> Self:
        global _enabled, _check_nan
        self._before = _enabled, _check_nan
        _enabled, _check_nan = True, self._wanted
        return self


def checker() -> Callable[[Node, tuple[Any, ...], Any], None] | None:
    """What the engine calls after each node; None while anomaly mode is off."""
    return check if _enabled and _check_nan else None


def check(node: Node, gradients: tuple[Any, ...], g: Any) -> None:
    for place, gradient in enumerate(gradients):
        data = getattr(gradient, "_data", gradient)
        if data is None or node.next[place] is None or not np.isnan(data).any():
            continue
        slot = node.input_slots[place] if node.input_slots else place
        raise AnomalyError(
            f"Function '{node.name()}' returned nan values in its {slot}th output.\n  gradient that came in: {summary(g)}\n"
            f"  gradient that went out: {summary(data)}",
            {"recorded": node.site},
            "look at the inputs of this line: sqrt, log, division, norm and pow have no finite derivative at 0; keep zeros away from "
            "them before the operation, as in torch.where(x > 0, x, 1).sqrt(), because masking its result comes too late",
        )


def summary(gradient: Any) -> str:
    data = np.asarray(getattr(gradient, "_data", gradient))
    finite = data[np.isfinite(data)]
    span = f"finite values from {finite.min():.4g} to {finite.max():.4g}" if finite.size else "no finite values"
    return f"shape {list(data.shape)}, {span}, {int(np.isnan(data).sum())} nan, {int(np.isinf(data).sum())} inf"
