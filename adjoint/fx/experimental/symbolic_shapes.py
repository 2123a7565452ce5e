"""PyTorch's questions about sizes that may be symbols. Here a size is a number, so that each is answered at once."""

from __future__ import annotations

from typing import Any

from ..._standing import refused
from ..._symbolic import SymBool, SymFloat, SymInt

SymTypes = (SymInt, SymFloat, SymBool)


class GuardOnDataDependentSymNode(RuntimeError):  # noqa: N818
    """Raised by PyTorch's compiler when a branch depends on a value that it does not know; never here."""

    def __init__(self, cond: Any, *args: Any) -> None:
        super().__init__(*args)
        self.cond = cond


def guard_or_false(a: Any) -> bool:
    """Whether a condition on sizes holds."""
    return bool(a)


def guard_or_true(a: Any) -> bool:
    """Whether a condition on sizes holds."""
    return bool(a)


def guard_bool(a: Any) -> bool:
    """Whether a condition on sizes holds."""
    return bool(a)


def guard_size_oblivious(expr: Any) -> bool:
    """Whether a condition on sizes holds."""
    return bool(expr)


def statically_known_true(x: Any) -> bool:
    """Whether a condition on sizes holds."""
    return bool(x)


def definitely_true(a: Any) -> bool:
    """Whether a condition on sizes holds."""
    return bool(a)


def definitely_false(a: Any) -> bool:
    """Whether a condition on sizes does not hold."""
    return not a


def sym_eq(x: Any, y: Any) -> bool:
    """Whether two sizes, or tuples of them, are equal."""
    return bool(x == y)


def guard_int(a: Any) -> int:
    return int(a)


def hint_int(a: Any, fallback: int | None = None) -> int:
    return int(a)


def is_symbolic(val: Any) -> bool:
    """False: no size is a symbol."""
    return False


def has_free_symbols(val: Any) -> bool:
    """False: no size is a symbol."""
    return False


def has_free_unbacked_symbols(x: Any) -> bool:
    """False: no size is a symbol."""
    return False


def is_concrete_int(a: Any) -> bool:
    return isinstance(a, int)


def is_concrete_bool(a: Any) -> bool:
    return isinstance(a, bool)


def free_symbols(val: Any) -> set[Any]:
    """None: sizes are numbers."""
    return set()


def free_unbacked_symbols(x: Any) -> set[Any]:
    """None: sizes are numbers."""
    return set()


@refused("sizes are numbers here, and no compiler keeps symbols of them: read tensor.shape")
def ShapeEnv(*args: Any, **kwargs: Any) -> None:
    """What PyTorch's compiler knows of the symbols for sizes."""
