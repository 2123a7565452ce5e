"""What processes do together, with tensors and with objects. Tensors are written in place, outside of any graph, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module
from typing import Any

import numpy as np

from .._tensor import Tensor, wrap
from ._groups import ProcessGroup, RedOpType, ReduceOp, _rank_not_in_group, get_group_rank, require


class Work:
    """A communication, which is done on return."""

    def __init__(self, result: Any = None) -> None:
        self._result = result

    def wait(self, timeout: timedelta | None = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True

    def is_success(self) -> bool:
        return True

    def exception(self) -> None:
        return None

    def result(self) -> Any:
        """The tensors that were written."""
        return self._result

    def synchronize(self) -> None:
        """Nothing is left to wait for."""

    def get_future(self) -> Any:
        made = import_module("..futures", __package__).Future()
        made.set_result(self._result)
        return made


# ---- arguments ----------------------------------------------------------------------------------------------------------------------


def _tensor(value: Any, name: str) -> Any:
    """The elements of an argument that has to be a tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n             but got {type(value)} instead."
        )
    return value.detach()._data


def _tensors(values: Any, name: str) -> list[Any]:
    if not isinstance(values, list | tuple) or not all(isinstance(value, Tensor) for value in values):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]")
    return [value.detach()._data for value in values]


def _operation(op: Any) -> str:
    if not isinstance(op, RedOpType):
        raise TypeError(f"op has to be a ReduceOp, such as torch.distributed.ReduceOp.SUM, but got {op!r}")
    if op is RedOpType.PREMUL_SUM:
        raise RuntimeError("Cannot use ReduceOp.PREMUL_SUM with Gloo: multiply the tensor first, and write ReduceOp.SUM")
    return op.name


def _root(group: ProcessGroup, rank: int | None, group_rank: int | None) -> int:
    """The number in its group of the process that gives or takes."""
    if group_rank is not None:
        if rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        if not 0 <= group_rank < group.size():
            raise ValueError(f"Group rank {group_rank} is not part of group {group}")
        return group_rank
    if rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    return get_group_rank(group, rank)


def _put(target: Tensor, value: Any) -> None:
    """Write elements into a tensor, unless they are there already."""
    if value is not target._data:
        target.detach().copy_(wrap(value))


def _same_shapes(targets: Sequence[Any], values: Sequence[Any], name: str) -> None:
    for place, (target, value) in enumerate(zip(targets, values, strict=True)):
        if target.shape != value.shape:
            raise RuntimeError(f"{name}: invalid tensor size at index {place} (expected {tuple(value.shape)}, got {tuple(target.shape)})")


def _count(values: Sequence[Any], group: ProcessGroup, name: str) -> None:
    if len(values) != group.size():
        raise RuntimeError(f"{name}: invalid tensor list at index 0 (expected length {group.size()}, got {len(values)})")


def _done(async_op: bool, *result: Tensor) -> Work | None:
    return Work(list(result)) if async_op else None


# ---- tensors ------------------------------------------------------------------------------------------------------------------------


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Write the combination of all processes' tensors into the tensor of each."""
    data, how = _tensor(tensor, "tensor"), _operation(op)
    if _rank_not_in_group(group):
        return None
    _put(tensor, require(group)._transport.combine(data, how))
    return _done(async_op, tensor)


def all_reduce_coalesced(tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """`all_reduce` of several tensors."""
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    _tensors(tensors, "tensors")
    for tensor in tensors:
        all_reduce(tensor, op, group)
    return _done(async_op, *tensors)


def reduce(
    tensor: Tensor, dst: int | None = None, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False, group_dst: int | None = None
) -> Work | None:
    """Write the combination of all processes' tensors into that of process `dst`."""
    data, how = _tensor(tensor, "tensor"), _operation(op)
    if _rank_not_in_group(group):
        return None
    found = require(group)
    root = _root(found, dst, group_dst)
    combined = found._transport.combine(data, how)
    if root == found.rank():
        _put(tensor, combined)
    return _done(async_op, tensor)


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Write the tensor of process `src` into that of each."""
    data = _tensor(tensor, "tensor")
    if _rank_not_in_group(group):
        return None
    found = require(group)
    _put(tensor, found._transport.spread(data, _root(found, src, group_src)))
    return _done(async_op, tensor)


def all_gather(tensor_list: Any, tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Write the tensors of all processes into those of a list."""
    targets, data = _tensors(tensor_list, "tensor_list"), _tensor(tensor, "tensor")
    if _rank_not_in_group(group):
        return None
    found = require(group)
    _count(targets, found, "allgather")
    _same_shapes(targets, [data] * len(targets), "allgather")
    for target, value in zip(tensor_list, found._transport.gather(data), strict=True):
        _put(target, value)
    return _done(async_op, *tensor_list)


def all_gather_coalesced(output_tensor_lists: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """`all_gather` of several tensors: `output_tensor_lists[rank][i]` is tensor i of a process."""
    _tensors(input_tensor_list, "tensor_list")
    for place, tensor in enumerate(input_tensor_list):
        all_gather([outputs[place] for outputs in output_tensor_lists], tensor, group)
    return _done(async_op)


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Write the tensors of all processes into one, which is so many times as long, or has a dimension for them first."""
    target, data = _tensor(output_tensor, "output_tensor"), _tensor(input_tensor, "input_tensor")
    if _rank_not_in_group(group):
        return None
    found = require(group)
    rows = (found.size() * data.shape[0], *data.shape[1:]) if data.ndim else (found.size(),)
    if target.shape not in (rows, (found.size(), *data.shape)):
        raise RuntimeError(f"allgather: invalid tensor size at index 0 (expected {rows}, got {tuple(target.shape)})")
    _put(output_tensor, np.reshape(np.stack(found._transport.gather(data)), target.shape))
    return _done(async_op, output_tensor)


def gather(
    tensor: Tensor, gather_list: Any = None, dst: int | None = None, group: Any = None, async_op: bool = False, group_dst: int | None = None
) -> Work | None:
    """Write the tensors of all processes into those of a list that process `dst` gives; 0 if it is not said."""
    data, targets = _tensor(tensor, "tensor"), _tensors(gather_list or [], "gather_list")
    if _rank_not_in_group(group):
        return None
    found = require(group)
    root = _root(found, 0 if dst is None and group_dst is None else dst, group_dst)
    if root == found.rank():
        if not gather_list:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        _count(targets, found, "gather")
        _same_shapes(targets, [data] * len(targets), "gather")
    elif gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    for target, value in zip(gather_list or (), found._transport.gather(data), strict=False):
        _put(target, value)
    return _done(async_op, *(gather_list or ()))


def scatter(
    tensor: Tensor, scatter_list: Any = None, src: int | None = None, group: Any = None, async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Write into the tensor of each process one of a list that process `src` gives; 0 if it is not said."""
    data, sources = _tensor(tensor, "tensor"), _tensors(scatter_list or [], "scatter_list")
    if _rank_not_in_group(group):
        return None
    found = require(group)
    root = _root(found, 0 if src is None and group_src is None else src, group_src)
    if root == found.rank():
        if not scatter_list:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        _count(sources, found, "scatter")
        _same_shapes(sources, [data] * len(sources), "scatter")
    elif scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    _put(tensor, found._transport.spread(sources, root)[found.rank()])
    return _done(async_op, tensor)


def reduce_scatter(output: Tensor, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Combine the lists of all processes tensor by tensor; each takes the one of its number."""
    data, sources, how = _tensor(output, "output"), _tensors(input_list, "input_list"), _operation(op)
    if _rank_not_in_group(group):
        return None
    found = require(group)
    _count(sources, found, "reduce_scatter")
    _same_shapes(sources[:1], [data], "reduce_scatter")
    _put(output, [found._transport.combine(source, how) for source in sources][found.rank()])
    return _done(async_op, output)


def reduce_scatter_tensor(output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """The same for a tensor that holds the list, along its first dimension."""
    target, data, how = _tensor(output, "output"), _tensor(input, "input"), _operation(op)
    if _rank_not_in_group(group):
        return None
    found = require(group)
    if data.size != target.size * found.size():
        raise RuntimeError("input tensor must be the same size as output size times world size")
    combined = found._transport.combine(data, how)
    _put(output, np.reshape(np.reshape(combined, (found.size(), -1))[found.rank()], target.shape))
    return _done(async_op, output)


def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Send tensor i of a list to process i, and write what comes from it into tensor i of the other."""
    targets, sources = _tensors(output_tensor_list, "output_tensor_list"), _tensors(input_tensor_list, "input_tensor_list")
    if _rank_not_in_group(group):
        return None
    found = require(group)
    _count(targets, found, "alltoall")
    _count(sources, found, "alltoall")
    values = found._transport.exchange(sources)
    _same_shapes(targets, values, "alltoall")
    for target, value in zip(output_tensor_list, values, strict=True):
        _put(target, value)
    return _done(async_op, *output_tensor_list)


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Sequence[int] | None = None, input_split_sizes: Sequence[int] | None = None,
    group: Any = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """The same for tensors that hold the lists, along their first dimension; in equal parts, unless sizes are given."""
    _tensor(output, "output"), _tensor(input, "input")
    if _rank_not_in_group(group):
        return None
    size = require(group).size()
    work = all_to_all(_parts(output, output_split_sizes, size), _parts(input, input_split_sizes, size), group, async_op)
    return work and Work([output])


def _parts(tensor: Tensor, sizes: Sequence[int] | None, count: int) -> list[Tensor]:
    length = tensor.shape[0] if tensor.ndim else 1
    if sizes and sum(sizes) != length:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    if not sizes and length % count:
        raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
    return list(tensor.detach().split(list(sizes) if sizes else length // count))


# ---- one to one ---------------------------------------------------------------------------------------------------------------------


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to a process."""
    data = _tensor(tensor, "tensor")
    if not _rank_not_in_group(group):
        found = require(group)
        found._transport.send(data, _root(found, dst, group_dst), tag)


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Write into a tensor what a process sends, any if none is named; return which."""
    _tensor(tensor, "tensor")
    if _rank_not_in_group(group):
        return -1
    found = require(group)
    sender, value = found._transport.receive(None if src is None and group_src is None else _root(found, src, group_src), tag)
    _put(tensor, value)
    return found._ranks[sender]


def isend(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> Work:
    """`send`, as a `Work`."""
    send(tensor, dst, group, tag, group_dst)
    return Work([tensor])


def irecv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> Work:
    """`recv`, as a `Work`."""
    recv(tensor, src, group, tag, group_src)
    return Work([tensor])


class P2POp:
    """A message to send or to receive, for `batch_isend_irecv`."""

    def __init__(
        self, op: Callable[..., Any], tensor: Tensor, peer: int | None = None, group: Any = None, tag: int = 0,
        group_peer: int | None = None,
    ) -> None:  # fmt: skip
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``.")
        _tensor(tensor, "tensor")
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = op, tensor, peer, group, tag, group_peer


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Send and receive several messages."""
    if not isinstance(p2p_op_list, list) or not all(isinstance(one, P2POp) for one in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    ordered = sorted(p2p_op_list, key=lambda one: one.op is irecv)  # who waits for a message before sending its own may wait for ever
    return [one.op(one.tensor, one.peer, one.group, one.tag, one.group_peer) for one in ordered]


# ---- objects ------------------------------------------------------------------------------------------------------------------------


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Write the objects of all processes into a list."""
    if _rank_not_in_group(group):
        return
    for place, value in enumerate(require(group)._transport.gather(obj)):
        object_list[place] = value


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None, group_dst: int | None = None
) -> None:
    """The same into the list of process `dst`; 0 if it is not said."""
    if _rank_not_in_group(group):
        return
    found = require(group)
    root = _root(found, 0 if dst is None and group_dst is None else dst, group_dst)
    if root == found.rank() and not object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
    values = found._transport.gather(obj)
    if root == found.rank() and object_gather_list is not None:
        object_gather_list[: len(values)] = values


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Write the objects of process `src` into the list of each; 0 if it is not said."""
    if _rank_not_in_group(group):
        return
    found = require(group)
    object_list[:] = found._transport.spread(object_list, _root(found, 0 if src is None and group_src is None else src, group_src))


def scatter_object_list(
    scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None, src: int | None = None, group: Any = None,
    group_src: int | None = None,
) -> None:  # fmt: skip
    """Write into the list of each process, as its first object, one of those that process `src` gives."""
    if _rank_not_in_group(group):
        return
    if not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    found = require(group)
    root = _root(found, 0 if src is None and group_src is None else src, group_src)
    if root == found.rank() and len(scatter_object_input_list or ()) != found.size():
        raise ValueError(f"scatter_object_input_list has to have an object for each of the {found.size()} processes on the source rank")
    scatter_object_output_list[0] = found._transport.spread(scatter_object_input_list, root)[found.rank()]


def send_object_list(
    object_list: list[Any], dst: int | None = None, group: Any = None, device: Any = None, group_dst: int | None = None,
    use_batch: bool = False,
) -> None:  # fmt: skip
    """Send objects to a process."""
    if not _rank_not_in_group(group):
        found = require(group)
        found._transport.send(object_list, _root(found, dst, group_dst), 0)


def recv_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None,
    use_batch: bool = False,
) -> int:  # fmt: skip
    """Write into a list the objects that a process sends."""
    if _rank_not_in_group(group):
        return -1
    found = require(group)
    sender, object_list[:] = found._transport.receive(None if src is None and group_src is None else _root(found, src, group_src), 0)
    return found._ranks[sender]


# ---- waiting ------------------------------------------------------------------------------------------------------------------------


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None) -> Work | None:
    """Wait until all processes are here."""
    if _rank_not_in_group(group):
        return None
    require(group)._transport.barrier()
    return _done(async_op)


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """The same."""
    barrier(group)


@contextmanager
def _coalescing_manager(group: Any = None, device: Any = None, async_ops: bool = False) -> Iterator[Work]:
    """A `with` block whose collectives may be done together. They are done one by one."""
    yield Work()


_all_gather_base, _reduce_scatter_base = all_gather_into_tensor, reduce_scatter_tensor
all_gather_single, reduce_scatter_single = all_gather_into_tensor, reduce_scatter_tensor

__all__ = [
    "P2POp", "Work", "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object", "all_gather_single",
    "all_reduce", "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast",
    "broadcast_object_list", "gather", "gather_object", "irecv", "isend", "monitored_barrier", "recv", "recv_object_list", "reduce",
    "reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor", "scatter", "scatter_object_list", "send", "send_object_list",
]  # fmt: skip
