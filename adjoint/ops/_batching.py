"""Batching rules: what an op means for a whole batch of its inputs. `func.vmap` runs them.

A batched input has one more dimension in front, of which the op knows nothing. The rule of an op calls ops that do for all examples at
once what the op does for one. Most rules follow from the declaration:

- Inputs that broadcast are given the same number of dimensions behind the batch.
- Where parameters named `dim` and the like count the dimensions of the one input (or, with `batch=ALONG`, of all inputs alike), they are
  moved by one.
- `batch=LEADING`: the op works on the last dimensions and takes any number in front of them.
- `batch=FOLDED`: the first dimension of all inputs and results counts samples of its own, which the examples are added to.
- `batch=REDUCED`: a loss of broadcast inputs, whose parameter `reduction` says what becomes of the elements.
- `batch=Composed(function)`: a function of one example that does with other ops what the op does; it takes the op's arguments.
- `batch=DYNAMIC`: values decide about the shape of the result, so there is no batch of results.
- `batch=rule`: the names in its signature say what the rule needs: the op's arguments, of which the inputs come batched (those that are
  not are expanded), `examples` (their number), and `batched` (for each input whether it is; then nothing is expanded).

An op without any of these is run on one example after the other, and `vmap` says so. So are functions that look at values outside of ops
(`by_example`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

from .._errors import compose
from .._layer import level_of, top_level
from .._site import here, warn
from .._tensor import Tensor
from ._registry import ALONG, DYNAMIC, FOLDED, LEADING, REDUCED, Op, parameters

DIMS = frozenset({"dim", "dims", "dim0", "dim1", "dim2", "dimension"})
# Parameters that mean the same whatever the number of dimensions.
NEUTRAL = frozenset({"keepdim", "dtype", "memory_format", "correction", "descending", "k", "largest", "shifts", "offset", "ord", "lengths",
                     "size", "step", "sparse_grad", "reduce", "include_self", "find"})  # fmt: skip

Flags = list[bool]  # for each operand whether it is batched


class Index(NamedTuple):
    """An array among the indices of `x[...]` that is batched."""

    array: Any


class Composed:
    """An op as a function of other ops, whose batching rules do the work."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.names = parameters(function)

    def on(self, op: Op, operands: list[Any], values: dict[str, Any]) -> Any:
        given = {**values, **dict(zip(op.inputs, operands, strict=True))}
        return self.function(*(given[name] for name in self.names))


def run(op: Op, operands: list[Any], batched: Flags, values: dict[str, Any], size: int) -> Any:
    """The results of an op for a batch; each has the batch as its first dimension."""
    if callable(op.batch):
        return explicit(op, op.batch, operands, batched, values, size)
    if op.broadcasts:
        return broadcasting(op, operands, batched, values)
    if op.batch == LEADING:
        return op.on(all_batched(op, operands, batched, size), values)
    if op.batch == REDUCED:
        return reduced(op, all_batched(op, operands, batched, size), values)
    if op.batch == FOLDED:
        return folded(op, all_batched(op, operands, batched, size), values, size)
    if op.batch == DYNAMIC:
        raise dynamic_shape(op.name)
    if op.batch == ALONG or moves(op):
        return along(op, all_batched(op, operands, batched, size), values)
    return looped(op, operands, batched, values, size)


def moves(op: Op) -> bool:
    """Whether the one input's dimensions are all that the parameters speak of."""
    params = set(op.params)
    return len(op.inputs) == 1 and not op.sequence and bool(params & DIMS) and params <= DIMS | NEUTRAL


def expanded(x: Tensor, size: int, is_batched: bool = False) -> Tensor:
    """A tensor that is the same for all examples, as a batch of them; one that is a batch already stays as it is."""
    return x if is_batched else x.expand(size, *x.shape)


def aligned(*batches: Tensor) -> tuple[Tensor, ...]:
    """Batches whose examples have the same number of dimensions, so that they broadcast."""
    ndim = max(x.ndim for x in batches)
    return tuple(behind_batch(x, ndim) for x in batches)


def behind_batch(x: Tensor, ndim: int) -> Tensor:
    """A batch of tensors with dimensions of size one added behind that of the batch, so that it broadcasts with one of `ndim`."""
    return x if x.ndim >= ndim else x.reshape(x.shape[0], *(1,) * (ndim - x.ndim), *x.shape[1:])


def rows(x: Tensor) -> Tensor:
    """A batch of tensors as a batch of vectors."""
    return x.reshape(x.shape[0], math.prod(x.shape[1:]))


def all_batched(op: Op, operands: list[Any], batched: Flags, size: int) -> list[Any]:
    return [x if is_batched or not isinstance(x, Tensor) else expanded(x, size) for x, is_batched in zip(operands, batched, strict=True)]


def explicit(op: Op, rule: Callable[..., Any], operands: list[Any], batched: Flags, values: dict[str, Any], size: int) -> Any:
    names = parameters(rule)
    given = operands if "batched" in names else all_batched(op, operands, batched, size)
    inputs = {op.inputs[0]: given} if op.sequence else dict(zip(op.inputs, given, strict=True))
    facts = {**values, **inputs, "examples": size, "batched": batched}
    return rule(*(facts[name] for name in names))


def broadcasting(op: Op, operands: list[Any], batched: Flags, values: dict[str, Any]) -> Any:
    """All inputs get the same number of dimensions behind that of the batch."""
    ranks = [x.ndim - is_batched for x, is_batched in zip(operands, batched, strict=True) if isinstance(x, Tensor)]
    rank = max(ranks)
    return op.on(
        [
            behind_batch(x, rank + 1) if is_batched else x
            for x, is_batched in zip(operands, batched, strict=True)
        ],
        values,
    )


def along(op: Op, operands: list[Any], values: dict[str, Any]) -> Any:
    """Dimensions are counted behind that of the batch."""
    rank = max(x.ndim for x in operands if isinstance(x, Tensor)) - 1
    scalar = rank == 0
    if scalar:  # one may name dimension 0 of a tensor that has none
        operands = [x.unsqueeze(1) if isinstance(x, Tensor) else x for x in operands]
    results = op.on(operands, {name: moved(value, max(rank, 1)) if name in DIMS else value for name, value in values.items()})
    if not scalar:
        return results
    return tuple(x.squeeze(1) for x in results) if op.several else results.squeeze(1) if results.ndim > 1 else results


def moved(dim: Any, rank: int) -> Any:
    """A dimension of an example, or several, as dimensions of the batch. None, and nothing, mean all of them."""
    if isinstance(dim, int):
        if not -rank <= dim < rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
        return dim % rank + 1
    return tuple(range(1, rank + 1)) if dim is None or not len(dim) else tuple(moved(int(d), rank) for d in dim)


def folded(op: Op, operands: list[Any], values: dict[str, Any], size: int) -> Any:
    """The samples of all examples as samples of one."""
    results = op.on([x.reshape(-1, *x.shape[2:]) if isinstance(x, Tensor) else x for x in operands], values)

    def unfolded(x: Tensor) -> Tensor:
        return x.reshape(size, x.shape[0] // max(size, 1), *x.shape[1:])

    return tuple(map(unfolded, results)) if op.several else unfolded(results)


def reduced(op: Op, operands: list[Any], values: dict[str, Any]) -> Any:
    """The loss of every element, summed or averaged over those of each example."""
    ndim = max(x.ndim for x in operands if isinstance(x, Tensor))
    losses = op.on([behind_batch(x, ndim) if isinstance(x, Tensor) else x for x in operands], {**values, "reduction": "none"})
    how = values["reduction"]
    return losses if how == "none" else rows(losses).mean(1) if how == "mean" else rows(losses).sum(1)


said: set[str] = set()


def say_looped(name: str) -> None:
    if name not in said:
        said.add(name)
        warn(
            f"There is a performance drop because we have not yet implemented the batching rule for aten::{name}: vmap computes one "
            "example after the other."
        )


def looped(op: Op, operands: list[Any], batched: Flags, values: dict[str, Any], size: int) -> Any:
    """One example after the other."""
    from .join import stack

    say_looped(op.name)
    if size == 0:
        raise RuntimeError(f"vmap over {op.name} without a batching rule needs at least one example")
    rows = [op.on([x[i] if is_batched else x for x, is_batched in zip(operands, batched, strict=True)], values) for i in range(size)]
    return tuple(stack(column) for column in zip(*rows, strict=True)) if op.several else stack(rows)


# ---- functions that look at values --------------------------------------------------------------------------------------------------


def dynamic_shape(name: str) -> RuntimeError:
    return RuntimeError(
        compose(
            f"vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{name}.",
            {"here": here()},
            "keep the shape and say which elements count: torch.where(mask, x, 0)",
        )
    )


def refuse_batches(name: str, *given: Any) -> None:
    """Refuse examples for each of which the result would have another shape."""
    level = top_level(given)
    while level is not None:
        if level.hides_dimension:
            raise dynamic_shape(name)
        given = tuple(x._data.value if level_of(x) is level else x for x in given)
        level = top_level(given)


def by_example(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function without derivatives that computes outside of ops. Inside transforms it is given plain tensors, one example at a time."""

    @wraps(fn)
    def function(*args: Any, **kwargs: Any) -> Any:
        level: Any = top_level((*args, *kwargs.values()))
        if level is None:
            return fn(*args, **kwargs)

        def below(part: Callable[[Tensor], Tensor]) -> Any:
            def lowered(x: Any) -> Any:
                return part(x._data.value) if level_of(x) is level else x

            return function(*map(lowered, args), **{name: lowered(x) for name, x in kwargs.items()})

        if not level.hides_dimension:
            return below(lambda value: value)
        say_looped(fn.__name__)
        return joined_examples(level, [below(lambda value, place=place: value[place]) for place in range(level.size)])  # type: ignore[misc]

    return function


def joined_examples(level: Any, rows: list[Any]) -> Any:
    """The results of all examples as those of the batch."""
    from .join import stack

    if isinstance(rows[0], Tensor):
        return level.batched(stack(rows))
    return type(rows[0])([joined_examples(level, list(column)) for column in zip(*rows, strict=True)])
