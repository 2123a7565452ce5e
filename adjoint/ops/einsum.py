"""Einstein's summation, by matrix products of two operands at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from types import EllipsisType
from typing import Any, NamedTuple

from .._dtype import bool_
from .._methods import OpMethods
from ._registry import FUNCTIONS, Array, composite
from .matmul import matmul

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
Subscripts = tuple[int | EllipsisType, ...]  # numbers of letters as they are written
Labels = list[int]  # one for each dimension: the numbers of letters, and beyond them the dimensions that an ellipsis stands for


Equation = str | tuple[Subscripts | None, ...]
Step = tuple[Callable[..., Array], tuple[int, ...], tuple[Any, ...]]  # what is done, to which values, and how


class Sketch:
    """Stands for a tensor of some shape while a plan is made, and notes there what is done to it."""

    __slots__ = ("place", "plan", "shape")

    def __init__(self, plan: Plan, shape: Sequence[int]) -> None:
        self.plan, self.shape, self.place = plan, tuple(shape), plan.values
        plan.values += 1

    def permute(self, dims: list[int]) -> Sketch:
        return self if dims == sorted(dims) else self.then(OpMethods.permute, [self.shape[d] for d in dims], dims)

    def reshape(self, shape: Sequence[int]) -> Sketch:
        return self if self.shape == tuple(shape) else self.then(OpMethods.reshape, shape, shape)

    def sum(self, dims: list[int]) -> Sketch:
        return self.then(OpMethods.sum, [size for d, size in enumerate(self.shape) if d not in dims], dims)

    def diagonal(self, first: int, second: int) -> Sketch:
        shape = [size for d, size in enumerate(self.shape) if d not in (first, second)]
        return self.then(FUNCTIONS["diagonal"], [*shape, self.shape[first]], 0, first, second)

    def times(self, other: Sketch, summed: bool) -> Sketch:
        """The product of matrices, or of a column with a row."""
        self.plan.steps.append((product, (self.place, other.place), (summed,)))
        return Sketch(self.plan, [*self.shape[:-1], other.shape[-1]])

    def scalar_products(self, other: Sketch, batch: int) -> Sketch:
        self.plan.steps.append((scalar_products, (self.place, other.place), (list(range(batch, len(self.shape))),)))
        return Sketch(self.plan, self.shape[:batch])

    def then(self, fn: Callable[..., Array], shape: Sequence[int], *arguments: Any) -> Sketch:
        self.plan.steps.append((fn, (self.place,), arguments))
        return Sketch(self.plan, shape)


class Operand(NamedTuple):
    tensor: Sketch
    labels: Labels


class Plan:
    """The steps in which a sum is computed, for tensors of certain shapes."""

    def __init__(self, equation: Equation, shapes: tuple[tuple[int, ...], ...]) -> None:
        self.steps: list[Step] = []
        self.values = 0
        (*inputs, output) = (*parsed(equation),) if isinstance(equation, str) else equation
        tensors = [Sketch(self, shape) for shape in shapes]
        labels, kept = labelled(inputs, output, tensors)  # type: ignore[arg-type]
        operands = [without_repeats(place, x, of) for place, (x, of) in enumerate(zip(tensors, labels, strict=True))]
        sizes = common_sizes(operands)
        operands = [without_ones(operand, sizes) for operand in operands]
        while len(operands) > 1:
            i, j = cheapest_pair(operands, sizes)
            second, first = operands.pop(j), operands.pop(i)
            needed = {label for operand in operands for label in operand.labels} | set(kept)
            operands.insert(i, multiplied(first, second, needed))
        result = arranged(operands[0], kept)
        if not self.steps:  # the result is a tensor of its own
            result.then(OpMethods.permute, result.shape, list(range(len(kept))))

    def computed(self, tensors: list[Any]) -> Array:
        """The sum. A value is used once, and then forgotten."""
        values: list[Any] = [*tensors]
        for fn, places, arguments in self.steps:
            used = [values[place] for place in places]
            for place in places:
                values[place] = None
            values.append(fn(*used, *arguments))
        return values[-1]


planned = lru_cache(maxsize=512)(Plan)


def product(a: Array, b: Array, summed: bool) -> Array:
    """The product of matrices, which are of one dtype; or all products of two elements."""
    if not summed:
        return a * b
    check_dtypes(a, b)
    return matmul(a, b)


def scalar_products(a: Array, b: Array, dims: list[int]) -> Array:
    check_dtypes(a, b)
    if a.dtype is bool_:
        raise NotImplementedError("\"bmm\" not implemented for 'Bool'\n  fix: a.float()")
    return (a * b).sum(dims, dtype=a.dtype)  # as in a matrix product, small integers wrap around


def check_dtypes(a: Array, b: Array) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {a.dtype.scalar_name} but found {b.dtype.scalar_name}\n  fix: b.to({a.dtype})")


@composite(method=False)
def einsum(*args: Any) -> Array:
    """The sum of products over the dimensions that share a letter: `einsum("ij,jk->ik", a, b)`.

    Lists of numbers may stand for the letters: `einsum(a, [0, 1], b, [1, 2], [0, 2])`.
    """
    equation, tensors = equation_of(args)
    return planned(equation, tuple([tuple(x.shape) for x in tensors])).computed(tensors)


# ---- the equation -------------------------------------------------------------------------------------------------------------------


def equation_of(args: tuple[Any, ...]) -> tuple[Equation, list[Array]]:
    """The equation, as it is or as the subscripts of each operand and of the output (None if it is not given); and the operands."""
    if not args:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list"
        )
    if isinstance(args[0], str):
        tensors = list(args[1][:] if len(args) == 2 and isinstance(args[1], list | tuple) else args[1:])
        return args[0], tensors
    pairs = len(args) // 2
    inputs = [checked(args[2 * i + 1]) for i in range(pairs)]
    return (*inputs, checked(args[-1]) if len(args) % 2 else None), [args[2 * i] for i in range(pairs)]


def checked(subscripts: Iterable[Any]) -> Subscripts:
    subscripts = tuple(subscripts)
    for item in subscripts:
        if item is not ... and not 0 <= item < len(LETTERS):
            raise ValueError(f"einsum(): subscript {item} in the subscripts list is not within the valid range [0, {len(LETTERS)})")
    return subscripts


def parsed(equation: str) -> tuple[Subscripts | None, ...]:
    groups: list[list[int | EllipsisType]] = [[]]
    output: list[int | EllipsisType] | None = None
    place = 0
    while place < len(equation):
        current = groups[-1] if output is None else output
        character = equation[place]
        if character in LETTERS:
            current.append(LETTERS.index(character))
        elif equation.startswith("...", place):
            if ... in current:
                raise RuntimeError(f"einsum(): found '.' for {whose(groups, output)} for which an ellipsis was already found")
            current.append(...)
            place += 2
        elif character == ".":
            raise RuntimeError(f"einsum(): found '.' for {whose(groups, output)} that is not part of any ellipsis")
        elif character == "," and output is None:
            groups.append([])
        elif equation.startswith("->", place) and output is None:
            output = []
            place += 1
        elif character != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {place} in the equation string, subscripts must be in [a-zA-Z]"
            )
        place += 1
    return (*map(tuple, groups), None if output is None else tuple(output))


def whose(groups: Sequence[Any], output: object) -> str:
    return f"operand {len(groups) - 1}" if output is None else "output"


def name_of(label: int) -> str:
    return LETTERS[label] if label < len(LETTERS) else "..."


def labelled(inputs: list[Subscripts], output: Subscripts | None, tensors: Sequence[Sketch]) -> tuple[list[Labels], Labels]:
    """Labels for the dimensions of each operand and of the result."""
    if len(inputs) != len(tensors):
        raise RuntimeError(
            f"einsum(): {'more' if len(inputs) < len(tensors) else 'fewer'} operands were provided than specified in the equation"
        )
    covered = []  # how many dimensions the ellipsis of each operand stands for
    for place, (subscripts, x) in enumerate(zip(inputs, tensors, strict=True)):
        letters = len(subscripts) - (... in subscripts)
        if letters > len(x.shape) or (letters < len(x.shape) and ... not in subscripts):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({letters}) "
                + ("does not match" if ... not in subscripts else "is more than")
                + f" the number of dimensions ({len(x.shape)}) for operand {place}"
                + (" and no ellipsis was given" if ... not in subscripts else "")
            )
        covered.append(len(x.shape) - letters)
    most = max((n for n, subscripts in zip(covered, inputs, strict=True) if ... in subscripts), default=0)
    ellipsis = [len(LETTERS) + i for i in range(most)]

    def expand(subscripts: Subscripts, count: int) -> Labels:
        return [label for item in subscripts for label in ([item] if not isinstance(item, EllipsisType) else ellipsis[most - count :])]

    labels = [expand(subscripts, n) for subscripts, n in zip(inputs, covered, strict=True)]
    every = [label for of in labels for label in of]
    if output is None:
        return labels, ellipsis + sorted(label for label in set(every) if label < len(LETTERS) and every.count(label) == 1)
    kept = expand(output, most)
    for label in kept:
        if kept.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {name_of(label)} appears more than once in the output")
        if label not in every:
            raise RuntimeError(f"einsum(): output subscript {name_of(label)} does not appear in the equation for any input operand")
    return labels, kept


# ---- the operands -------------------------------------------------------------------------------------------------------------------


def without_repeats(place: int, x: Sketch, labels: Labels) -> Operand:
    """A letter that is repeated in one operand stands for its diagonal."""
    labels = list(labels)
    for label in sorted(set(labels)):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if x.shape[first] != x.shape[second]:
                raise RuntimeError(
                    f"einsum(): subscript {name_of(label)} is repeated for operand {place} but the sizes don't match, "
                    f"{x.shape[second]} != {x.shape[first]}"
                )
            x = x.diagonal(first, second)
            labels = [other for d, other in enumerate(labels) if d not in (first, second)] + [label]
    return Operand(x, labels)


def common_sizes(operands: Sequence[Operand]) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for place, (x, labels) in enumerate(operands):
        for label, size in zip(labels, x.shape, strict=True):
            known = sizes.get(label, 1)
            if size not in (1, known) and known != 1:
                raise RuntimeError(
                    f"einsum(): subscript {name_of(label)} has size {size} for operand {place} which does not broadcast with previously "
                    f"seen size {known}"
                )
            sizes[label] = known if size == 1 else size
    return sizes


def without_ones(operand: Operand, sizes: dict[int, int]) -> Operand:
    """A dimension of one element broadcasts: it can be left out where another operand has the full size."""
    x, labels = operand
    ones = [d for d, label in enumerate(labels) if x.shape[d] == 1 and sizes[label] != 1]
    if not ones:
        return operand
    keep = [d for d in range(len(labels)) if d not in ones]
    return Operand(x.reshape([x.shape[d] for d in keep]), [labels[d] for d in keep])


def cheapest_pair(operands: Sequence[Operand], sizes: dict[int, int]) -> tuple[int, int]:
    """The two operands whose product takes the fewest multiplications; the first two, if it makes no difference."""
    if len(operands) == 2:
        return 0, 1
    pairs = [(i, j) for i in range(len(operands)) for j in range(i + 1, len(operands))]
    return min(pairs, key=lambda ij: math.prod(sizes[label] for label in {*operands[ij[0]].labels, *operands[ij[1]].labels}))


def summed_out(operand: Operand, needed: set[int]) -> Operand:
    x, labels = operand
    dims = [d for d, label in enumerate(labels) if label not in needed]
    return Operand(x.sum(dims), [label for label in labels if label in needed]) if dims else operand


def multiplied(a: Operand, b: Operand, needed: set[int]) -> Operand:
    """The product of two operands, summed over the labels that nobody else needs: one batched matrix product."""
    a = summed_out(a, needed | set(b.labels))
    b = summed_out(b, needed | set(a.labels))
    batch = [label for label in a.labels if label in b.labels and label in needed]
    inner = [label for label in a.labels if label in b.labels and label not in needed]
    rows = [label for label in a.labels if label not in b.labels]
    columns = [label for label in b.labels if label not in a.labels]
    left, right = ordered(a, [*batch, *rows, *inner]), ordered(b, [*batch, *inner, *columns])
    if batch and inner and not rows and not columns:  # scalar products, for which a matrix product takes longer
        return Operand(left.scalar_products(right, len(batch)), batch)
    cut = len(batch)
    shape = [*left.shape[: cut + len(rows)], *right.shape[cut + len(inner) :]]
    outside = list(left.shape[:cut])
    m, n = math.prod(left.shape[cut : cut + len(rows)]), math.prod(right.shape[cut + len(inner) :])
    k = math.prod(right.shape[cut : cut + len(inner)])
    result = left.reshape([*outside, m, k]).times(right.reshape([*outside, k, n]), bool(inner))
    return Operand(result.reshape(shape), batch + rows + columns)


def ordered(operand: Operand, labels: Labels) -> Sketch:
    return operand.tensor.permute([operand.labels.index(label) for label in labels])


def arranged(operand: Operand, kept: Labels) -> Sketch:
    return ordered(summed_out(operand, set(kept)), kept)
