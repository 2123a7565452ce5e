"""Functions written in Python that say which argument has the wrong type, as PyTorch does, and pay nothing for it.

A composite function does not look at its arguments before it works with them, so a wrong one is first noticed as a missing attribute
somewhere inside, or worse. To check all arguments of all calls would cost time. `blaming` instead gives a function an outermost exception
handler: the tables in which CPython keeps handlers are read when something was raised, and not before. The handler compares the arguments
with the annotations, and raises TypeError if one does not fit; otherwise the exception goes on as it was.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

# What PyTorch takes where an annotation says this. Arguments with other annotations are not compared.
TAKEN: dict[str, Any] = {"None": type(None), "int": (int, np.integer), "float": (int, float, np.number), "bool": (int, np.bool_)}
NUMBERS = (int, float, complex, np.generic, np.ndarray)


class Handler:
    """What to do with an exception that leaves a function. It stands among the function's constants, where its code finds it whatever
    names it uses, and `~` is how to call a constant."""

    __slots__ = ("fn",)

    def __init__(self, fn: FunctionType) -> None:
        self.fn = fn

    def __invert__(self) -> None:
        error = sys.exc_info()[1]
        if isinstance(error, AttributeError | RuntimeError | IndexError | ValueError) or hasattr(error, "argument"):
            found = complaint(error, self.fn, sys._getframe(1))
            if found is not None:
                raise found from None


def _template() -> None:
    try:
        _template()
    except:
        ~0.5  # type: ignore[operator]  # noqa: B018
        raise


def blaming(fn: FunctionType) -> FunctionType:
    """Give a function the handler, or the one that it calls with its own arguments. The function stays the same object."""
    inner: Any = fn
    while hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    code: CodeType = inner.__code__
    given = code.co_consts and isinstance(code.co_consts[-1], Handler)
    if len(code.co_consts) < 256 and not given and not code.co_flags & GENERATES:
        instructions = code.co_code
        end = len(instructions) // 2
        handler = HANDLER[:CONSTANT] + bytes([len(code.co_consts)]) + HANDLER[CONSTANT + 1 :]
        inner.__code__ = code.replace(
            co_code=instructions + handler,
            co_consts=(*code.co_consts, Handler(inner)),
            co_exceptiontable=table_with(code.co_exceptiontable, end),
            co_linetable=code.co_linetable + LINES,
            co_stacksize=max(code.co_stacksize, DEPTH),
        )
    return fn


def blame_arguments(namespace: dict[str, Any]) -> None:
    """Give the handler to all public functions of a module. Ops look at their arguments themselves."""
    for name, fn in namespace.items():
        if isinstance(fn, FunctionType) and name[0] != "_" and fn.__module__.startswith("adjoint") and not hasattr(fn, "asks"):
            blaming(fn)


# ---- exception tables ---------------------------------------------------------------------------------------------------------------
# An entry is four numbers: start and length of a range, its handler, and (depth of the stack << 1) | whether the place of the error is
# kept. A number is written in groups of six bits, highest first; 64 marks that more follow, 128 the first byte of an entry.


def entries(table: bytes) -> Iterator[tuple[int, int, int, int]]:
    if not table:
        return iter(())
    numbers: list[int] = []
    more = False
    for byte in table:
        numbers = [*numbers[:-1], (numbers[-1] << 6) | (byte & 63)] if more else [*numbers, byte & 63]
        more = bool(byte & 64)
    return zip(numbers[::4], numbers[1::4], numbers[2::4], numbers[3::4], strict=True)


def written(start: int, length: int, target: int, rest: int) -> list[int]:
    found = [*groups(start), *groups(length), *groups(target), *groups(rest)]
    found[0] |= 128
    return found


def groups(number: int) -> list[int]:
    return [number] if number < 64 else [*(group | 64 for group in groups(number >> 6)), number & 63]


def table_with(table: bytes, end: int) -> bytes:
    """A table for code of `end` instructions that ends with the handler, which serves wherever no other does."""
    found: list[int] = []
    reached = 0
    for start, length, target, rest in entries(table):
        if start > reached:
            found += written(reached, start - reached, end, 0)
        found += written(start, length, target, rest)
        reached = start + length
    if end > reached:
        found += written(reached, end - reached, end, 0)
    for start, length, target, rest in HANDLER_ENTRIES:
        found += written(end + start, length, end + target, rest)
    return bytes(found)


def _parts_of_template(code: CodeType) -> tuple[bytes, int, list[tuple[int, int, int, int]]]:
    """The instructions of the template's handler, where among them the constant's number is, and their own entries."""
    import opcode

    (_, _, start, _), *rest = entries(code.co_exceptiontable)
    instructions = code.co_code[2 * start :]
    load = bytes([opcode.opmap["LOAD_CONST"], code.co_consts.index(0.5)])
    return instructions, instructions.index(load) + 1, [(at - start, n, to - start, depth) for at, n, to, depth in rest if at >= start]


GENERATES = 0x20 | 0x80 | 0x200  # generators and coroutines, whose frames live on
HANDLER, CONSTANT, HANDLER_ENTRIES = _parts_of_template(_template.__code__)
DEPTH = _template.__code__.co_stacksize
# The handler's line is the last one of the function: entries of at most eight instructions each, without columns.
LINES = b"".join(bytes([0x80 | 13 << 3 | min(8, len(HANDLER) // 2 - at) - 1, 0]) for at in range(0, len(HANDLER) // 2, 8))


# ---- what to say --------------------------------------------------------------------------------------------------------------------

PREFIXES = {"adjoint.linalg": "linalg_", "adjoint._linalg_norms": "linalg_", "adjoint.fft": "fft_", "adjoint.special": "special_"}


def complaint(error: BaseException | None, fn: FunctionType, frame: FrameType) -> TypeError | None:
    """The error about the argument that a function could not use, if that is the cause."""
    from ._tensor import Tensor

    code, values = frame.f_code, frame.f_locals
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    defaults = dict(zip(code.co_varnames[code.co_argcount - 1 :: -1], (fn.__defaults__ or ())[::-1], strict=False))
    defaults |= fn.__kwdefaults__ or {}
    unusable = getattr(error, "obj" if isinstance(error, AttributeError) else "argument", Tensor)
    if not isinstance(unusable, Tensor | type):
        for place, name in enumerate(names, 1):
            if values.get(name, names) is unusable and defaults.get(name, names) is not unusable:
                return wrong(fn, f"argument '{name}' (position {place}) must be Tensor, not {type(unusable).__name__}", unusable)
        for name, value in values.items():
            if isinstance(value, list | tuple) and name in code.co_varnames[: len(names) + 1]:
                for place, item in enumerate(value):
                    if item is unusable:
                        return wrong(None, f"expected Tensor as element {place} in argument 0, but got {type(item).__name__}", item)
    if fn.__module__.startswith("adjoint.nn") and not isinstance(error, AttributeError):
        return None  # PyTorch's functions there are written in Python too, and check numbers before tensors
    rebound = assigned(code)
    for place, name in enumerate(names, 1):
        if name in values and name not in rebound and values[name] is not defaults.get(name, names):
            expected = str(fn.__annotations__.get(name, "Any"))
            if not fits(values[name], expected):
                given = "Tensor" if isinstance(values[name], Tensor) else type(values[name]).__name__
                wanted = expected.removesuffix(" | None").replace("float", "Number").replace("Array", "Tensor")
                return wrong(fn, f"argument '{name}' (position {place}) must be {wanted}, not {given}", values[name])
    return None


def wrong(fn: FunctionType | None, text: str, argument: Any) -> TypeError:
    """Functions that called this one, and got the argument from the user, say it again in their own words."""
    if fn is not None:
        text = f"{PREFIXES.get(fn.__module__, '')}{fn.__name__}(): {text}"
    error = TypeError(text)
    error.argument = argument  # type: ignore[attr-defined]
    return error


def fits(value: Any, annotation: str) -> bool:
    from ._tensor import Tensor

    for kind in annotation.split(" | "):
        if kind in ("Tensor", "Array"):  # an operand, which may be a number
            if isinstance(value, Tensor) or (kind == "Array" and isinstance(value, NUMBERS)):
                return True
        elif kind not in TAKEN or isinstance(value, TAKEN[kind]):
            return True
        elif isinstance(value, Tensor) and value.ndim == 0:
            return True  # as a number
    return False


def assigned(code: CodeType) -> set[str]:
    """The names that a function assigns to: their values are not the arguments any more."""
    import dis

    found: set[str] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith("STORE_FAST"):
            found.update(instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,))
    return found
