"""The arguments of transforms: which of them are differentiated, and the checks that they share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._errors import spelled
from .._tensor import Tensor
from ..utils._pytree import tree_flatten, tree_map

Argnums = int | tuple[int, ...]


def place_of(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def places(argnums: Argnums, count: int) -> tuple[int, ...]:
    """The arguments that are meant, counted from the front."""
    if isinstance(argnums, int):
        return (place_of(argnums, count),)
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
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


def check_outputs(name: str, output: Any, leaves: list[Any]) -> None:
    """Refuse what has no derivative because it is no tensor."""
    if not leaves or output is None:
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = {leaves})")
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}")


def check_real(name: str, role: str, leaves: list[Tensor]) -> None:
    """Refuse complex tensors, of whose derivatives a Jacobian would hold only a part."""
    for place, leaf in enumerate(leaves):
        if leaf.is_complex():
            raise RuntimeError(
                spelled(
                    f"{name}: Expected all {role} to be real but received complex tensor at flattened input idx: {place}\n"
                    "  fix: take the real and the imaginary part as separate tensors: torch.view_as_real(z)"
                )
            )


def unwrapped_aux(lower: Callable[[Any], Any], aux: Any) -> Any:
    """What a function returns besides, one level down."""
    for leaf in tree_flatten(aux)[0]:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
    return tree_map(lower, aux)
