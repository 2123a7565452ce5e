"""`vmap`: a function of one example becomes a function of a batch of them.

The steps have PyTorch's names and arguments, and this module is `torch._functorch.vmap`: TensorDict puts steps of its own in their places,
which take its dictionaries as leaves. The `vmap_level` they are given is the level's depth, by which `_add_batch_dim` finds it again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._errors import spelled
from .._layer import level_of, levels, opened
from .._sampling import get_rng_state, set_rng_state
from .._state import get_mode
from .._tensor import Tensor
from ..ops._registry import FUNCTIONS
from ..utils._pytree import TreeSpec, _broadcast_to_and_flatten, broadcast_prefix, tree_flatten, tree_unflatten
from ._batched import VmapLevel

__all__ = ["Tensor", "_broadcast_to_and_flatten", "tree_flatten", "tree_unflatten", "vmap"]

RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """A function that does for every example of a batch what `func` does for one. `in_dims` says which dimension of each argument counts
    the examples (None: all examples share it), `out_dims` where that dimension goes in the results.

    >>> import adjoint as ad
    >>> x = ad.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> ad.func.vmap(ad.dot)(x, x)
    tensor([ 5., 25.])
    """
    if randomness not in RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        size, dims, flat, spec = _process_batched_inputs(in_dims, args, func)
        if chunk_size is None or size <= chunk_size:
            return run(func, flat, dims, spec, size, out_dims, randomness, kwargs)
        return in_chunks(func, flat, dims, spec, size, out_dims, randomness, kwargs, chunk_size)

    return wrapped


def _get_name(func: Any) -> str:
    return getattr(func, "__name__", None) or f"{type(func).__name__}(...)"


def _process_batched_inputs(
    in_dims: Any, args: tuple[Any, ...], func: Callable[..., Any]
) -> tuple[int, list[int | None], list[Any], TreeSpec]:
    """The number of examples, and the arguments as leaves with their batch dimensions."""
    flat, spec = tree_flatten(args)
    dims = checked_dims(_get_name(func), in_dims, args, flat)
    return batch_size(dims, flat), dims, flat, spec


def checked_dims(name: str, in_dims: Any, args: tuple[Any, ...], flat: list[Any]) -> list[int | None]:
    """The batch dimension of every leaf of the arguments, counted from the front."""
    call = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, int) and not isinstance(in_dims, tuple):
        raise ValueError(
            f"{call}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no "
            "inputs. The latter is unsupported."
        )
    found = broadcast_prefix(in_dims, args)
    if found is None:
        raise ValueError(
            f"{call}: in_dims is not compatible with the structure of `inputs`. in_dims has structure {tree_flatten(in_dims)[1]} but "
            f"inputs has structure {tree_flatten(args)[1]}.\n  fix: give a number, or a tuple with an entry for each argument"
        )
    for place, (dim, x) in enumerate(zip(found, flat, strict=True)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(
                f"{call}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(x, Tensor):
            raise ValueError(
                f"{call}: Got in_dim={dim} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor arguments, "
                "please use None as the respective in_dim"
            )
        if not -x.ndim <= dim < x.ndim:
            raise ValueError(
                f"{call}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {x.ndim} so expected in_dim to "
                f"satisfy -{x.ndim} <= in_dim < {x.ndim}."
            )
        found[place] = dim % x.ndim
    return found


def batch_size(dims: list[int | None], flat: list[Any]) -> int:
    sizes = [x.shape[dim] for dim, x in zip(dims, flat, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over: in_dims has only None")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return int(sizes[0])


def run(
    func: Callable[..., Any], flat: list[Any], dims: list[int | None], spec: TreeSpec, size: int, out_dims: Any, randomness: str,
    kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    level = VmapLevel(size, randomness)
    with opened(level, get_mode()):
        inputs = _create_batched_inputs(dims, flat, level.depth, spec)
        return _unwrap_batched(func(*inputs, **kwargs), out_dims, level.depth, size, func)


def _create_batched_inputs(flat_in_dims: list[int | None], flat_args: list[Any], vmap_level: int, args_spec: TreeSpec) -> Any:
    """The arguments as the function gets them."""
    inputs = [x if dim is None else _add_batch_dim(x, dim, vmap_level) for x, dim in zip(flat_args, flat_in_dims, strict=True)]
    return tree_unflatten(inputs, args_spec)


def _unwrap_batched(batched_outputs: Any, out_dims: Any, vmap_level: int, batch_size: int, func: Callable[..., Any]) -> Any:
    """The results with the batch where it is wanted."""
    name = _get_name(func)
    leaves, spec = tree_flatten(batched_outputs)
    places = output_dims(name, out_dims, batched_outputs)
    results = [_maybe_remove_batch_dim(name, x, vmap_level, batch_size, dim) for x, dim in zip(leaves, places, strict=True)]
    return tree_unflatten(results, spec)


def level_at(depth: int) -> VmapLevel:
    for level in levels():
        if level.depth == depth and isinstance(level, VmapLevel):
            return level
    raise RuntimeError(spelled(f"vmap: no vmap of level {depth} is running\n  fix: write torch.func.vmap(function)(...)"))


def _add_batch_dim(self: Tensor, batch_dim: int, level: int) -> Tensor:
    """An example of all: what a function gets of a tensor whose dimension `batch_dim` counts them."""
    return level_at(level).given(self, batch_dim)


def output_dims(name: str, out_dims: Any, output: Any) -> list[int | None]:
    """The place of the batch in every leaf of the output."""
    if not all(dim is None or isinstance(dim, int) for dim in tree_flatten(out_dims)[0]):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints representing where in "
            "the outputs the vmapped dimension should appear."
        )
    if isinstance(output, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    found = broadcast_prefix(out_dims, output)
    if found is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. out_dims has "
            f"structure {tree_flatten(out_dims)[1]} but outputs has structure {tree_flatten(output)[1]}.\n"
            "  fix: give a number, or one for each output"
        )
    return found


def _remove_batch_dim(self: Tensor, level: int, batch_size: int, out_dim: int) -> Any:
    return _maybe_remove_batch_dim("function", self, level, batch_size, out_dim)


def _maybe_remove_batch_dim(name: str, x: Any, vmap_level: int, batch_size: int, dim: int | None) -> Any:
    """A result with its batch dimension where it is wanted."""
    level = level_at(vmap_level)
    mine = level_of(x) is level
    if dim is None:
        if mine:
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None: it differs between examples\n"
                "  fix: out_dims=0"
            )
        return x
    if not isinstance(x, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(x)}. Did you mean to set out_dims= to None for output?"
        )
    value: Tensor = x._data.value if mine else level.dressed(x)._data.value
    if not -value.ndim <= dim < value.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-value.ndim}, {value.ndim - 1}], but got {dim})"
        )
    return FUNCTIONS["movedim"](value, 0, dim) if dim % value.ndim else value


def in_chunks(
    func: Callable[..., Any], flat: list[Any], dims: list[int | None], spec: TreeSpec, size: int, out_dims: Any, randomness: str,
    kwargs: dict[str, Any], chunk_size: int,
) -> Any:  # fmt: skip
    """Some examples at a time, which takes less memory."""
    rows = []
    state = get_rng_state() if randomness == "same" else None
    for start in range(0, size, chunk_size):
        if state is not None:
            set_rng_state(state)
        length = min(chunk_size, size - start)
        part = [x if dim is None else x.narrow(dim, start, length) for x, dim in zip(flat, dims, strict=True)]
        rows.append(run(func, part, dims, spec, length, out_dims, randomness, kwargs))
    flattened = [tree_flatten(row)[0] for row in rows]
    places = output_dims(_get_name(func), out_dims, rows[0])
    columns = zip(*flattened, strict=True)
    joined = [column[0] if dim is None else FUNCTIONS["cat"](column, dim) for column, dim in zip(columns, places, strict=True)]
    return tree_unflatten(joined, tree_flatten(rows[0])[1])
