"""What is known of a program's conditions before it runs: constants, versions, and which errors an `except` catches."""

from __future__ import annotations

import ast
import builtins
import operator
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..._place import VERSION

_OPERATORS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip


@dataclass(frozen=True)
class Const:
    """A value that is known. What a program assigns may change before it is asked for: only what is settled chooses a branch."""

    value: Any
    settled: bool = True


class Version(tuple[int, ...]):
    """The numbers of a version of torch, however a program reads them."""

    __slots__ = ()


def parsed(text: str) -> tuple[int, ...] | None:
    """The numbers of a version: "2.13.0+cpu" is (2, 13, 0)."""
    found = re.match(r"\s*v?(\d+(?:\.\d+)+)", text)
    return tuple(map(int, found[1].split("."))) if found else None


TORCH = Const(Version(parsed(VERSION) or ()))


def is_version(value: Any) -> bool:
    return isinstance(value, Const) and isinstance(value.value, Version)


def of_system(name: str) -> Const | None:
    """`sys.platform`, `sys.version_info`."""
    return Const(tuple(sys.version_info[:3])) if name == "version_info" else Const(sys.platform) if name == "platform" else None


def compared(left: Any, comparison: ast.cmpop, right: Any) -> Const | None:
    """What a comparison gives, as far as it is known."""
    compare = _OPERATORS.get(type(comparison))
    if compare is None or not (isinstance(left, Const) and isinstance(right, Const)):
        return None
    one, other = left.value, right.value
    if isinstance(one, Version) or isinstance(other, Version):
        if isinstance(comparison, ast.Eq | ast.NotEq | ast.Is | ast.IsNot):  # of which part, is not known
            return None
        one, other = _numbers(one), _numbers(other)
        if one is None or other is None:
            return None
    try:
        return Const(bool(compare(one, other)), left.settled and right.settled)
    except TypeError:
        return None


def _numbers(value: Any) -> tuple[int, ...] | None:
    if isinstance(value, tuple):
        return tuple(value) if all(isinstance(part, int) for part in value) else None
    return parsed(value) if isinstance(value, str) else (value,) if isinstance(value, int) else None


def exceptions(node: ast.expr | None) -> list[type[BaseException]]:
    """The errors that `except node` catches, as far as they are Python's own."""
    if node is None:
        return [BaseException]
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    found = [getattr(builtins, ast.unparse(part).rpartition(".")[2], None) for part in parts]
    return [error for error in found if isinstance(error, type) and issubclass(error, BaseException)]


def flags(statements: list[ast.stmt]) -> frozenset[str]:
    """The names that a module assigns outside of loops and functions only: what they are is known by the order of its statements."""
    found: set[str] = set()
    others = {name for statement in statements for node in ast.walk(statement) if isinstance(node, ast.Global) for name in node.names}
    todo = list(statements)
    while todo:
        node: Any = todo.pop()
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.If | ast.Try | ast.With):
            handlers = [part for handler in getattr(node, "handlers", ()) for part in handler.body]
            todo += [*node.body, *getattr(node, "orelse", ()), *handlers, *getattr(node, "finalbody", ())]
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            others |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return frozenset(found - others)
