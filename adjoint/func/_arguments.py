"""The arguments of transforms: which of them are differentiated, and the checks that they share."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor

Argnums = int | tuple[int, ...]


def place_of(argnum: int, count: int) -> int:
    if not -count <= argnum < count:
        raise RuntimeError(f"positional inputs were expected to be indexable by argnums={argnum}, but only {count} were given")
    return argnum % count


def places(argnums: Argnums, count: int) -> tuple[int, ...]:
    """The arguments that are meant, counted from the front."""
    if isinstance(argnums, int):
        return (place_of(argnums, count),)
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnum must be int or Tuple[int], got: {type(argnums)}")
    if not argnums:
        raise RuntimeError("argnums must be non-empty: name at least one argument")
    found = tuple(place_of(n, count) for n in argnums)
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return found


def chosen(args: tuple[Any, ...], argnums: Argnums) -> Any:
    """The argument that is differentiated, or a tuple of them."""
    found = tuple(args[place] for place in places(argnums, len(args)))
    return found[0] if isinstance(argnums, int) else found


def replaced(args: tuple[Any, ...], argnums: Argnums, new: Any) -> tuple[Any, ...]:
    """The arguments with others in the place of those."""
    result = list(args)
    for place, value in zip(places(argnums, len(args)), (new,) if isinstance(argnums, int) else new, strict=True):
        result[place] = value
    return tuple(result)


def split_aux(name: str, output: Any, has_aux: bool) -> tuple[Any, Any]:
    """The output of a function, and what it returns besides."""
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return output


def check_tensors(name: str, function: str, leaves: list[Any]) -> None:
    """Refuse outputs that have no derivative."""
    if not leaves:
        raise RuntimeError(f"{name}: Expected {function} to be a function that has non-empty output.")
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{name}: expected {function}(*args) to return only tensors, got unsupported type {type(leaf)}")
