"""What processes do together with tensors, which are written in place, outside of any graph, as in PyTorch.

Each collective checks its arguments, takes the tensors' elements as arrays (`_buffers.py`), and hands `perform` (`_work.py`) a call of
the group's transport, together with what is to be done when it has ended.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import numpy as np

from .._tensor import Tensor
from ._buffers import Summand, check_dtypes, check_tensor, check_tensors, elements, elements_of, put, put_each
from ._debug import About
from ._groups import ProcessGroup, ReduceOp, member, root_of
from ._work import Work, perform, together

_SIGNALS = 32767  # the tag of what processes tell each other in monitored_barrier: the highest that every MPI has


def _same_shapes(targets: Sequence[Tensor], tensor: Tensor, name: str) -> None:
    for place, target in enumerate(targets):
        if target.shape != tensor.shape:
            raise RuntimeError(f"{name}: invalid tensor size at index {place} (expected {tuple(tensor.shape)}, got {tuple(target.shape)})")


def _one_for_each(values: Sequence[Tensor], group: ProcessGroup, name: str) -> None:
    if len(values) != group.size():
        raise RuntimeError(f"{name}: invalid tensor list at index 0 (expected length {group.size()}, got {len(values)})")


# ---- combinations -------------------------------------------------------------------------------------------------------------------


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Write the combination of all processes' tensors into the tensor of each."""
    check_tensor(tensor, "tensor")
    own = Summand(elements(tensor), tensor, op, "all_reduce")
    if (found := member(group, "all_reduce")) is None:
        return None

    def begin(later: bool) -> Any:
        return found._transport.all_reduce(own.array, own.operation, later)

    def finish() -> None:
        own.put(tensor, own.array, found.size())

    return perform(found, "all_reduce", begin, finish, [tensor], async_op, about=About(tensor, op))


def all_reduce_coalesced(tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """`all_reduce` of several tensors."""
    given = check_tensors([tensors] if isinstance(tensors, Tensor) else tensors, "tensors")
    with _coalescing_manager(group, async_ops=async_op) as together:
        for tensor in given:
            all_reduce(tensor, op, group)
    return together if async_op else None


def reduce(
    tensor: Tensor, dst: int | None = None, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False, group_dst: int | None = None
) -> Work | None:
    """Write the combination of all processes' tensors into that of process `dst`."""
    check_tensor(tensor, "tensor")
    own = Summand(elements(tensor), tensor, op, "reduce")
    if (found := member(group, "reduce")) is None:
        return None
    root = root_of(found, dst, group_dst)

    def begin(later: bool) -> Any:
        return found._transport.reduce(own.array, own.operation, root, later)

    def finish() -> None:
        if found.rank() == root:
            own.put(tensor, own.array, found.size())

    return perform(found, "reduce", begin, finish, [tensor], async_op, about=About(tensor, op, root))


def reduce_scatter(output: Tensor, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Combine the lists of all processes tensor by tensor; each takes the one of its number."""
    check_tensor(output, "output")
    sources = check_tensors(input_list, "input_list")
    check_dtypes(output, *sources)
    if (found := member(group, "reduce_scatter")) is None:
        return None
    _one_for_each(sources, found, "reduce_scatter")
    _same_shapes(sources, output, "reduce_scatter")
    return _reduce_scatter(output, elements_of(sources), op, found, async_op)


def reduce_scatter_tensor(output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """The same for a tensor that holds the list, along its first dimension."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    if output.dtype is not input.dtype:
        raise RuntimeError(f"reduce_scatter: invalid tensor type at index 0 (expected {output.dtype}, got {input.dtype})")
    if (found := member(group, "reduce_scatter_tensor")) is None:
        return None
    if input.numel() != output.numel() * found.size():
        raise RuntimeError("input tensor must be the same size as output size times world size")
    array = elements(input)
    return _reduce_scatter(output, array.copy() if np.may_share_memory(array, output._data) else array, op, found, async_op)


def _reduce_scatter(output: Tensor, array: Any, op: Any, group: ProcessGroup, async_op: bool) -> Work | None:
    own = Summand(array, output, op, "reduce_scatter")
    target = own.like(output)

    def begin(later: bool) -> Any:
        return group._transport.reduce_scatter(target, own.array, own.operation, later)

    def finish() -> None:
        own.put(output, target, group.size())

    return perform(group, "reduce_scatter", begin, finish, [output], async_op, about=About(output, op))


# ---- copies -------------------------------------------------------------------------------------------------------------------------


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Write the tensor of process `src` into that of each."""
    check_tensor(tensor, "tensor")
    if (found := member(group, "broadcast")) is None:
        return None
    root, array = root_of(found, src, group_src), elements(tensor)

    def begin(later: bool) -> Any:
        return found._transport.broadcast(array, root, later)

    def finish() -> None:
        if found.rank() != root:
            put(tensor, array)

    return perform(found, "broadcast", begin, finish, [tensor], async_op, about=About(tensor, None, root))


def all_gather(tensor_list: Any, tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Write the tensors of all processes into those of a list."""
    targets = check_tensors(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    check_dtypes(*targets, tensor)
    if (found := member(group, "all_gather")) is None:
        return None
    _one_for_each(targets, found, "allgather")
    _same_shapes(targets, tensor, "allgather")
    array, gathered = elements(tensor), np.empty((len(targets), *tensor.shape), tensor._data.dtype)

    def begin(later: bool) -> Any:
        return found._transport.all_gather(gathered, array, later)

    return perform(found, "all_gather", begin, lambda: put_each(targets, gathered), targets, async_op, about=About(tensor))


def all_gather_coalesced(output_tensor_lists: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """`all_gather` of several tensors: `output_tensor_lists[rank][i]` is tensor i of a process."""
    given = check_tensors(input_tensor_list, "tensor_list")
    with _coalescing_manager(group, async_ops=async_op) as together:
        for place, tensor in enumerate(given):
            all_gather([outputs[place] for outputs in output_tensor_lists], tensor, group)
    return together if async_op else None


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Write the tensors of all processes into one, which is so many times as long, or has a dimension for them first."""
    check_tensor(output_tensor, "output_tensor")
    check_tensor(input_tensor, "input_tensor")
    if output_tensor.dtype is not input_tensor.dtype:
        raise RuntimeError(f"allgather: invalid tensor type at index 0 (expected {input_tensor.dtype}, got {output_tensor.dtype})")
    if (found := member(group, "all_gather_into_tensor")) is None:
        return None
    if output_tensor.numel() != input_tensor.numel() * found.size():
        rows = (found.size(), *input_tensor.shape)
        raise RuntimeError(f"allgather: invalid tensor size at index 0 (expected {rows}, got {tuple(output_tensor.shape)})")
    target, array = elements(output_tensor), elements(input_tensor)

    def begin(later: bool) -> Any:
        return found._transport.all_gather(target, array, later)

    return perform(
        found, "all_gather_into_tensor", begin, lambda: put(output_tensor, target), [output_tensor], async_op, about=About(input_tensor)
    )


def gather(
    tensor: Tensor, gather_list: Any = None, dst: int | None = None, group: Any = None, async_op: bool = False, group_dst: int | None = None
) -> Work | None:
    """Write the tensors of all processes into those of a list that process `dst` gives; 0 if it is not said."""
    check_tensor(tensor, "tensor")
    targets = check_tensors(gather_list or [], "gather_list")
    check_dtypes(*targets, tensor)
    if (found := member(group, "gather")) is None:
        return None
    root = root_of(found, dst, group_dst, otherwise=0)
    if root != found.rank():
        if gather_list:
            raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
        gathered = None
    else:
        if not gather_list:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        _one_for_each(targets, found, "gather")
        _same_shapes(targets, tensor, "gather")
        gathered = np.empty((len(targets), *tensor.shape), tensor._data.dtype)
    array = elements(tensor)

    def begin(later: bool) -> Any:
        return found._transport.gather(gathered, array, root, later)

    def finish() -> None:
        if gathered is not None:
            put_each(targets, gathered)

    return perform(found, "gather", begin, finish, targets, async_op, about=About(tensor, None, root))


def scatter(
    tensor: Tensor, scatter_list: Any = None, src: int | None = None, group: Any = None, async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Write into the tensor of each process one of a list that process `src` gives; 0 if it is not said."""
    check_tensor(tensor, "tensor")
    sources = check_tensors(scatter_list or [], "scatter_list")
    check_dtypes(*sources, tensor)
    if (found := member(group, "scatter")) is None:
        return None
    root = root_of(found, src, group_src, otherwise=0)
    if root != found.rank():
        if scatter_list:
            raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
        given = None
    else:
        if not scatter_list:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        _one_for_each(sources, found, "scatter")
        _same_shapes(sources, tensor, "scatter")
        given = elements_of(sources)
    array = elements(tensor)

    def begin(later: bool) -> Any:
        return found._transport.scatter(array, given, root, later)

    return perform(found, "scatter", begin, lambda: put(tensor, array), [tensor], async_op, about=About(tensor, None, root))


def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Send tensor i of a list to process i, and write what comes from it into tensor i of the other."""
    targets = check_tensors(output_tensor_list, "output_tensor_list")
    sources = check_tensors(input_tensor_list, "input_tensor_list")
    check_dtypes(*targets, *sources)
    if (found := member(group, "all_to_all")) is None:
        return None
    _one_for_each(targets, found, "alltoall")
    _one_for_each(sources, found, "alltoall")
    counts, target_counts = ([one.numel() for one in some] for some in (sources, targets))
    array, target = elements_of(sources), np.empty(sum(target_counts), targets[0]._data.dtype)

    def begin(later: bool) -> Any:
        return found._transport.all_to_all(target, target_counts, array, counts, later)

    return perform(found, "all_to_all", begin, lambda: put_each(targets, target), targets, async_op, about=About(targets[0], shapes=False))


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Sequence[int] | None = None, input_split_sizes: Sequence[int] | None = None,
    group: Any = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """The same for tensors that hold the lists, along their first dimension; in equal parts, unless sizes are given."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_dtypes(output, input)
    if (found := member(group, "all_to_all_single")) is None:
        return None
    counts, target_counts = _counts(input, input_split_sizes, found), _counts(output, output_split_sizes, found)
    array, target = elements(input), elements(output)
    if np.may_share_memory(array, target):
        array = array.copy()

    def begin(later: bool) -> Any:
        return found._transport.all_to_all(target, target_counts, array, counts, later)

    return perform(found, "all_to_all_single", begin, lambda: put(output, target), [output], async_op, about=About(input, shapes=False))


def _counts(tensor: Tensor, sizes: Sequence[int] | None, group: ProcessGroup) -> list[int]:
    """How many elements of a tensor belong to each process: so many rows, or equal parts."""
    rows = tensor.shape[0] if tensor.ndim else 1
    if sizes:
        if len(sizes) != group.size():
            raise RuntimeError(f"Number of tensor splits not equal to group size: {len(sizes)} for {group.size()} processes")
        if sum(sizes) != rows:
            raise RuntimeError("Split sizes doesn't match total dim 0 size")
    elif rows % group.size():
        raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
    length = tensor.numel() // rows if rows else 0
    return [size * length for size in sizes or [rows // group.size()] * group.size()]


# ---- waiting ------------------------------------------------------------------------------------------------------------------------


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None) -> Work | None:
    """Wait until all processes are here; no longer than `timeout`, that of the group if it is None."""
    if device_ids is not None and not isinstance(device_ids, list):
        raise TypeError("Invalid function argument: device_ids type should be List[int]")
    if (found := member(group, "barrier")) is None:
        return None
    return perform(found, "barrier", found._transport.barrier, async_op=async_op, timeout=timeout)


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """The same, and process 0 says who has not come within `timeout`: the first that it misses, or all of them."""
    if (found := member(group, "monitored_barrier")) is None:
        return
    moment = time.monotonic() + (timeout or found._timeout).total_seconds()
    milliseconds = round((timeout or found._timeout).total_seconds() * 1000)
    if found.rank():
        _signal(found, 0, "send")
        if not _signal(found, 0, "receive", moment):
            raise RuntimeError(
                f"[Rank {found.rank()}]: Rank 0 failed to pass monitoredBarrier in {milliseconds} ms, or misses others: see what it says"
            )
        return
    missing = []
    for rank in range(1, found.size()):
        if not _signal(found, rank, "receive", moment):
            missing.append(str(rank))
            if not wait_all_ranks:
                break
    if missing:
        who = f"Rank {missing[0]}" if not wait_all_ranks else f"Ranks {', '.join(missing)}"
        raise RuntimeError(f"[Rank 0]: {who} failed to pass monitoredBarrier in {milliseconds} ms")
    for rank in range(1, found.size()):
        _signal(found, rank, "send")


def _signal(group: ProcessGroup, rank: int, direction: str, moment: float = 0) -> bool:
    """Tell a process of the group that this one is here, or hear it from that one; False if it has not said so at `moment`."""
    number = np.zeros(1, np.uint8)
    if direction == "send":
        perform(group, "monitored_barrier", lambda later: group._transport.send(number, rank, _SIGNALS, later), async_op=True, peer=rank)
        return True
    pending = group._transport.receive(number, rank, _SIGNALS, True)
    while not pending.Test():
        if time.monotonic() > moment:
            pending.Cancel()
            return False
        time.sleep(0.0005)
    return True


@contextmanager
def _coalescing_manager(group: Any = None, device: Any = None, async_ops: bool = False) -> Iterator[Work]:
    """A `with` block whose communications go on together. They are done at its end, or, if `async_ops`, when one has waited for it."""
    with together() as works:
        yield works
    if not async_ops:
        works.wait()


_all_gather_base, _reduce_scatter_base = all_gather_into_tensor, reduce_scatter_tensor
all_gather_single, reduce_scatter_single = all_gather_into_tensor, reduce_scatter_tensor

__all__ = [
    "Work", "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_single", "all_reduce", "all_reduce_coalesced",
    "all_to_all", "all_to_all_single", "barrier", "broadcast", "gather", "monitored_barrier", "reduce", "reduce_scatter",
    "reduce_scatter_single", "reduce_scatter_tensor", "scatter",
]  # fmt: skip
