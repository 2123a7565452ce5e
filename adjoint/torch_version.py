"""PyTorch's `torch.torch_version`: a version that is a text and compares as versions do."""

from __future__ import annotations

import re
from typing import Any

from ._version import __version__ as _adjoint_version

__all__ = ["TorchVersion"]

_FORM = re.compile(r"v?(\d+(?:\.\d+)*)(?:[._-]?(a|b|c|rc|alpha|beta|dev|post)[._-]?(\d*))?(?:\.dev(\d+))?(?:\+([a-z0-9.]+))?", re.I)
_PHASES = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "c": -1, "rc": -1, "": 0, "post": 1}


def _parts(version: Any) -> tuple[Any, ...] | None:
    """What is compared: the numbers without zeros at the end, the phase before or after the release, and what was built from it."""
    if isinstance(version, list | tuple):
        version = ".".join(map(str, version))
    found = _FORM.fullmatch(str(version).strip())
    if found is None:
        return None
    numbers, phase, count, dev, local = found.groups()
    release = [int(number) for number in numbers.split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    last = float("inf") if dev is None else int(dev)
    return tuple(release), _PHASES[(phase or "").lower()], int(count or 0), last, local or ""


class TorchVersion(str):
    """A version that compares with texts and tuples by its numbers.

    >>> from adjoint.torch_version import TorchVersion
    >>> TorchVersion("2.13.0+cpu") >= (2, 9), TorchVersion("2.13.0") == "2.13", TorchVersion("2.13.0") < "2.2"
    (True, True, False)
    """

    __slots__ = ()

    def _compare(self, other: Any, by: str) -> Any:
        mine, theirs = _parts(str(self)), _parts(other)
        if mine is None or theirs is None:  # some other text
            return getattr(str, by)(self, str(other))
        return getattr(tuple, by)(mine, theirs)

    def __lt__(self, other: Any) -> bool:
        return bool(self._compare(other, "__lt__"))

    def __le__(self, other: Any) -> bool:
        return bool(self._compare(other, "__le__"))

    def __gt__(self, other: Any) -> bool:
        return bool(self._compare(other, "__gt__"))

    def __ge__(self, other: Any) -> bool:
        return bool(self._compare(other, "__ge__"))

    def __eq__(self, other: object) -> bool:
        return bool(self._compare(other, "__eq__"))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


__version__ = TorchVersion(_adjoint_version)
