"""PyTorch's `torch.distributed.nn`: collectives that gradients go through. What one process receives from another in the forward pass, its
gradient is sent back to in the backward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import distributed as _dist
from ..._creation import empty_like, zeros_like
from ..._homes import settle
from ..._standing import refused
from ..._tensor import Tensor
from ...autograd.function import Function
from ...ops.join import cat, stack
from .._groups import ReduceOp, get_group_rank, get_rank, get_world_size

__all__ = [
    "RemoteModule", "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce",
    "reduce_scatter", "scatter",
]  # fmt: skip


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        result = tensor.clone()
        _dist.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad.contiguous())


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = tensor.clone()
        _dist.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        total = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, grad.contiguous())
        return None, None, total if get_rank() == ctx.src else zeros_like(total)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.group = dst, group
        result = tensor.clone()
        _dist.reduce(result, dst, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grad.contiguous())


class _AllGather(Function):
    """The tensors of all processes, one after the other along a first dimension."""

    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.group = group
        result = tensor.new_empty((get_world_size(group), *tensor.shape))
        _dist.all_gather_into_tensor(result, tensor.contiguous(), group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, _ReduceScatter.apply(ReduceOp.SUM, ctx.group, grad)


class _ReduceScatter(Function):
    """The combination of all processes' tensors, of whose first dimension each takes its part."""

    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.group = group
        result = tensor.new_empty(tensor.shape[1:])
        _dist.reduce_scatter_tensor(result, tensor.contiguous(), op, group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, _AllGather.apply(ctx.group, grad)


class _AllToAll(Function):
    """All the others: tensors that go to each process, for those that come from it."""

    @staticmethod
    def forward(ctx: Any, group: Any, outputs: Sequence[Tensor], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.group, ctx.inputs = group, [empty_like(tensor) for tensor in tensors]
        results = [output.clone() for output in outputs]
        _dist.all_to_all(results, [tensor.contiguous() for tensor in tensors], group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        return None, None, *_AllToAll.apply(ctx.group, ctx.inputs, *[grad.contiguous() for grad in grads])


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of process `src`."""
    return _Broadcast.apply(src, group, tensor)  # type: ignore[no-any-return]


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The combination of all processes' tensors, in process `dst`."""
    return _Reduce.apply(dst, op, group, tensor)  # type: ignore[no-any-return]


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The combination of all processes' tensors.

    >>> import adjoint as ad
    >>> ad.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> ad.distributed.nn.all_reduce(ad.ones(2, requires_grad=True))
    tensor([1., 1.], grad_fn=<_AllReduceBackward>)
    >>> ad.distributed.destroy_process_group()
    """
    return _AllReduce.apply(op, group, tensor)  # type: ignore[no-any-return]


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all processes."""
    return tuple(_AllGather.apply(group, tensor))


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all processes, in process `dst`; zeros in the others."""
    gathered = all_gather(tensor, group)
    return gathered if get_rank() == dst else tuple(one * 0 for one in gathered)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """One of the tensors that process `src` gives."""
    return all_to_all([empty_like(tensor) for tensor in tensors], list(tensors), group)[get_group_rank(group, src)]


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The combination of all processes' lists, tensor by tensor; each takes the one of its number."""
    return _ReduceScatter.apply(op, group, stack(list(input_list)))  # type: ignore[no-any-return]


def all_to_all(output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None) -> tuple[Tensor, ...]:
    """What each process gives this one: tensor i of a list goes to process i."""
    return tuple(_AllToAll.apply(group, output_tensor_list, *input_tensor_list))


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Sequence[int] | None = None, input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
) -> Tensor:  # fmt: skip
    """The same for tensors that hold the lists, along their first dimension; in equal parts, unless sizes are given."""
    count = get_world_size(group)
    outputs = output.split(list(output_split_sizes) if output_split_sizes else output.shape[0] // count)
    inputs = input.split(list(input_split_sizes) if input_split_sizes else input.shape[0] // count)
    return cat(all_to_all(outputs, inputs, group))  # type: ignore[no-any-return]


@refused("adjoint calls no modules of other processes; make the module in this one")
class RemoteModule:
    """A module of another process."""


settle(__name__, {"functional": ("",), "api": ("",), "api.remote_module": ("",)})
