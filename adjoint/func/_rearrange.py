"""`rearrange`: dimensions permuted, joined and taken apart by a pattern that names them."""

from __future__ import annotations

import math
import re
from typing import Any

from .._tensor import Tensor

Axis = tuple[str, ...]  # the names that are joined to a dimension; none for one of size 1


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Any:
    """A tensor with its dimensions in the order of the right side of a pattern; parentheses join dimensions, or take them apart.

    >>> import adjoint as ad
    >>> images = ad.zeros(2, 3, 4, 5)
    >>> ad.func.rearrange(images, "batch channel height width -> batch (height width) channel").shape
    torch.Size([2, 20, 3])
    >>> ad.func.rearrange(images, "b c (h pair) w -> (b pair) c h w", pair=2).shape
    torch.Size([4, 3, 2, 5])
    """
    if isinstance(tensor, list | tuple):
        from ..ops._registry import FUNCTIONS

        tensor = FUNCTIONS["stack"](list(tensor))
    elif not isinstance(tensor, Tensor):
        raise TypeError(f"rearrange(): argument 'tensor' (position 1) must be Tensor, not {type(tensor).__name__}")
    sides = with_rest(pattern, tensor.ndim).split("->")
    if len(sides) != 2:
        raise ValueError(f"Pattern must contain a single '->' separator, as in 'a b -> b a', got {pattern!r}")
    left, right = map(axes_of, sides)
    check_names(left, right, axes_lengths)
    if len(left) != tensor.ndim:
        given = f"the number of dimensions in the tensor ({tensor.ndim})"
        raise ValueError(f"Number of dimensions in pattern ({len(left)}) must be equal to {given}")
    sizes = sizes_of(left, tuple(tensor.shape), axes_lengths)
    apart, wanted = ([name for axis in axes for name in axis] for axes in (left, right))
    parts = tensor.reshape([sizes[name] for name in apart]).permute([apart.index(name) for name in wanted])
    return parts.reshape([math.prod(sizes[name] for name in axis) for axis in right])


def with_rest(pattern: str, dims: int) -> str:
    """A pattern with names in the places of '...', for as many dimensions as are left."""
    left = pattern.split("->", maxsplit=1)[0]
    if "..." not in left:
        return pattern
    if re.search(r"\([^)]*\.\.\.", left):
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {left.strip()}")
    others = len(axes_of(left.replace("...", " ", 1)))
    return pattern.replace("...", " ".join(f"_rest{place}" for place in range(dims - others)))


def axes_of(side: str) -> list[Axis]:
    """The dimensions on one side of a pattern."""
    axes: list[Axis] = []
    joined: list[str] | None = None  # inside of parentheses
    for token in re.findall(r"[()]|[^\s()]+", side):
        if token == "(" and joined is None:
            joined = []
        elif token == ")" and joined is not None:
            axes.append(tuple(joined))
            joined = None
        elif token.isidentifier() or token == "1":
            names = () if token == "1" else (token,)
            if joined is None:
                axes.append(names)
            else:
                joined.extend(names)
        else:
            kind = "Brackets are not balanced" if token in "()" else "Unknown character"
            raise ValueError(f"{kind}: {token!r} in {side.strip()!r} is no name of a dimension, '...' (once), 1, or a pair of parentheses")
    if joined is not None:
        raise ValueError(f"Imbalanced parentheses in expression: {side!r}")
    return axes


def check_names(left: list[Axis], right: list[Axis], given: dict[str, int]) -> None:
    sides = [[name for axis in axes for name in axis] for axes in (left, right)]
    for names in sides:
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"Indexing expression contains duplicate dimension {twice[0]!r}")
    alone = set(sides[0]) ^ set(sides[1])
    if alone:
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {alone}")
    unknown = set(given) - set(sides[0])
    if unknown:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")


def sizes_of(left: list[Axis], shape: tuple[int, ...], given: dict[str, int]) -> dict[str, int]:
    """How large what each name stands for is: as given, or as follows from the shape."""
    sizes = dict(given)
    for axis, size in zip(left, shape, strict=True):
        unknown = [name for name in axis if name not in given]
        known = math.prod(given[name] for name in axis if name in given)
        if len(unknown) > 1:
            raise ValueError(f"rearrange: the lengths of {unknown} cannot be told from {size}\n  fix: rearrange(..., {unknown[0]}=2)")
        if (unknown and (known <= 0 or size % known)) or (not unknown and known != size):
            raise ValueError(f"rearrange: a dimension of size {size} cannot be taken apart into {' x '.join(axis) or 1} with {given}")
        if unknown:
            sizes[unknown[0]] = size // known
    return sizes
