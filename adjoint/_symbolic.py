"""PyTorch's symbolic sizes and its checks of them.

Where PyTorch compiles, a size may be a symbol. Here sizes are Python's own numbers, so no object is of these classes, the functions are
Python's, and a check is done at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ._site import warn
from ._tensor import Tensor


class SymInt:
    """A whole number that is not known yet, where PyTorch compiles."""


class SymFloat:
    """A number that is not known yet, where PyTorch compiles."""


class SymBool:
    """A truth value that is not known yet, where PyTorch compiles."""


def sym_int(a: float) -> int:
    """The number without its fraction."""
    return math.trunc(a)


def sym_float(a: Any) -> float:
    return float(a)


def sym_not(a: Any) -> bool:
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers; a float if one of them is."""
    return _like(max(a, b), a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers; a float if one of them is."""
    return _like(min(a, b), a, b)


def _like(value: Any, a: Any, b: Any) -> Any:
    return float(value) if isinstance(a, float) or isinstance(b, float) else value


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """`t` if `b`, else `f`."""
    return t if b else f


def sym_sum(args: Iterable[Any]) -> Any:
    return sum(args)


def sym_sqrt(a: Any) -> float:
    return math.sqrt(a)


# ---- checks -------------------------------------------------------------------------------------------------------------------------


def _assert(condition: Any, message: str) -> None:
    """`assert`, as a function."""
    if not condition:
        raise AssertionError(message)


def _assert_async(input: Tensor, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Raise RuntimeError if a tensor of one element is zero."""
    if not bool(input):
        raise RuntimeError(assert_msg)


def _check_with(error_type: type[Exception], cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise an error of a type, with what `message()` says, unless `cond` is true."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}: write bool(...) around it")
    if cond:
        return
    if message is None:
        raise error_type("Expected cond to be True, but got False.")
    if not callable(message):
        raise TypeError("message must be a callable: write lambda: ... before it")
    raise error_type(str(message()))


_check = partial(_check_with, RuntimeError)
_check_value = partial(_check_with, ValueError)
_check_type = partial(_check_with, TypeError)
_check_index = partial(_check_with, IndexError)
_check_not_implemented = partial(_check_with, NotImplementedError)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Callable[[], Any] | None = None) -> None:
    """The same for a tensor of truth values, of which all have to be true."""
    if not isinstance(cond, Tensor) or cond.dtype.name != "bool":
        raise TypeError("cond tensor must have dtype torch.bool")
    _check_with(error_type, bool(cond.all()), message)


_check_tensor_all = partial(_check_tensor_all_with, RuntimeError)


def _check_is_size(i: int, message: Callable[[], Any] | None = None, *, max: int | None = None) -> None:
    """Raise RuntimeError unless a number can be a size."""
    warn("_check_is_size will be removed in a future PyTorch release along with guard_size_oblivious. Use _check(i >= 0) instead.",
         FutureWarning)  # fmt: skip
    _check(i >= 0 and (max is None or i <= max), message)
