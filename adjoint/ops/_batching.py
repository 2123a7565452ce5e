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
from functools import cache, wraps
from typing import Any, NamedTuple, NoReturn

from .._errors import compose
from .._layer import level_of, top_level
from .._site import here, warn
from .._tensor import Tensor
from ._general import called
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


def run(op: Op, args: list[Any], batched: Flags, size: int) -> Any:
    """The results of an op for a batch; each has the batch as its first dimension. The arguments are in the order of the signature; the
    list may be written to."""
    return way(op)(op, args, batched, size)


@cache
def way(op: Op) -> Callable[[Op, list[Any], Flags, int], Any]:
    """How an op is run on a batch."""
    if callable(op.batch):
        return explicit(op, op.batch)
    if op.broadcasts:
        return broadcasting
    if op.batch == LEADING:
        return leading
    if op.batch == REDUCED:
        return reduced
    if op.batch == FOLDED:
        return folded
    if op.batch == DYNAMIC:
        return refused
    return along if op.batch == ALONG or moves(op) else looped


def moves(op: Op) -> bool:
    """Whether the one input's dimensions are all that the parameters speak of."""
    params = set(op.params)
    return len(op.inputs) == 1 and not op.sequence and bool(params & DIMS) and params <= DIMS | NEUTRAL


def operands_of(op: Op, args: list[Any]) -> list[Any]:
    return args[0] if op.sequence else [args[place] for place in op.places]


def tensors_of(op: Op, args: list[Any]) -> list[Tensor]:
    return [x for x in operands_of(op, args) if isinstance(x, Tensor)]


def with_operands(op: Op, args: list[Any], operands: list[Any]) -> list[Any]:
    if op.sequence:
        return [operands, *args[1:]]
    for place, x in zip(op.places, operands, strict=True):
        args[place] = x
    return args


def mapped(op: Op, args: list[Any], function: Callable[[Tensor], Tensor]) -> list[Any]:
    """The arguments with what a function makes of the tensors among them."""
    return with_operands(op, args, [function(x) if isinstance(x, Tensor) else x for x in operands_of(op, args)])


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


def all_batched(op: Op, args: list[Any], batched: Flags, size: int) -> list[Any]:
    if all(batched):
        return args
    pairs = zip(operands_of(op, args), batched, strict=True)
    return with_operands(op, args, [x if flag or not isinstance(x, Tensor) else expanded(x, size) for x, flag in pairs])


def explicit(op: Op, rule: Callable[..., Any]) -> Callable[[Op, list[Any], Flags, int], Any]:
    """By a rule, which says by the names of its parameters what it needs."""
    names = parameters(rule)
    places = [(*op.args, "examples", "batched").index(name) for name in names]
    as_they_are = "batched" in names

    def by_rule(op: Op, args: list[Any], batched: Flags, size: int) -> Any:
        facts = [*(args if as_they_are else all_batched(op, args, batched, size)), size, batched]
        return rule(*[facts[place] for place in places])

    return by_rule


def broadcasting(op: Op, args: list[Any], batched: Flags, size: int) -> Any:
    """All inputs get the same number of dimensions behind that of the batch."""
    if len(batched) > 1:
        flagged = zip(op.places, batched, strict=True)
        ranks = [(place, len(args[place]._data.shape) - flag, flag) for place, flag in flagged if hasattr(args[place], "_data")]
        most = max([rank for _, rank, _ in ranks])
        for place, rank, is_batched in ranks:
            if is_batched and rank < most:
                args[place] = behind_batch(args[place], most + 1)
    return called(op, args)


def leading(op: Op, args: list[Any], batched: Flags, size: int) -> Any:
    return called(op, all_batched(op, args, batched, size))


def along(op: Op, args: list[Any], batched: Flags, size: int) -> Any:
    """Dimensions are counted behind that of the batch."""
    args = all_batched(op, args, batched, size)
    rank = max(x.ndim for x in tensors_of(op, args)) - 1
    scalar = rank == 0
    if scalar:  # one may name dimension 0 of a tensor that has none
        args = mapped(op, args, lambda x: x.unsqueeze(1))
    for place, name in enumerate(op.args):
        if name in DIMS:
            args[place] = moved(args[place], max(rank, 1))
    results = called(op, args)
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


def folded(op: Op, args: list[Any], batched: Flags, size: int) -> Any:
    """The samples of all examples as samples of one."""
    results = called(op, mapped(op, all_batched(op, args, batched, size), lambda x: x.reshape(-1, *x.shape[2:])))

    def unfolded(x: Tensor) -> Tensor:
        return x.reshape(size, x.shape[0] // max(size, 1), *x.shape[1:])

    return tuple(map(unfolded, results)) if op.several else unfolded(results)


def reduced(op: Op, args: list[Any], batched: Flags, size: int) -> Any:
    """The loss of every element, summed or averaged over those of each example."""
    args = all_batched(op, args, batched, size)
    ndim = max(x.ndim for x in tensors_of(op, args))
    args = mapped(op, args, lambda x: behind_batch(x, ndim))
    place = op.args.index("reduction")
    how, args[place] = args[place], "none"
    losses = called(op, args)
    return losses if how == "none" else rows(losses).mean(1) if how == "mean" else rows(losses).sum(1)


said: set[str] = set()


def say_looped(name: str) -> None:
    if name not in said:
        said.add(name)
        warn(
            f"There is a performance drop because we have not yet implemented the batching rule for aten::{name}: vmap computes one "
            "example after the other."
        )


def looped(op: Op, args: list[Any], batched: Flags, size: int) -> Any:
    """One example after the other."""
    from .join import stack

    say_looped(op.name)
    if size == 0:
        raise RuntimeError(f"vmap over {op.name} without a batching rule needs at least one example")
    pairs = list(zip(operands_of(op, args), batched, strict=True))
    rows = [called(op, with_operands(op, args, [x[i] if is_batched else x for x, is_batched in pairs])) for i in range(size)]
    return tuple(stack(column) for column in zip(*rows, strict=True)) if op.several else stack(rows)


def refused(op: Op, args: list[Any], batched: Flags, size: int) -> NoReturn:
    raise dynamic_shape(op.name)


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
