"""Equal copies of tensors in all processes: to see that they can be made equal, and to make them so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..ops.join import cat
from ._collectives import broadcast
from ._groups import require
from ._objects import all_gather_object


def verify(group: Any, named: Sequence[tuple[str, Tensor]], what: str = "params") -> None:
    """Refuse, in every process, tensors that are not of the same number, shapes and dtypes in all of them."""
    found = require(group)
    own = [(name, list(tensor.shape), str(tensor.dtype)) for name, tensor in named]
    all_of_them: list[Any] = [None] * found.size()
    all_gather_object(all_of_them, own, found)
    first = all_of_them[0]
    for rank, theirs in enumerate(all_of_them):
        if len(theirs) != len(first):
            names = sorted({one[0] for one in theirs} ^ {one[0] for one in first})
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank 0 has {len(first)} {what}, while rank {rank} has inconsistent "
                f"{len(theirs)} {what}: only one of them has {', '.join(names) or 'some of them'}"
            )
        for place, (here, there) in enumerate(zip(theirs, first, strict=True)):
            if here[1:] != there[1:]:
                raise RuntimeError(
                    f"[{rank}]: {what}[{place}] in this process with sizes {here[1]} appears not to match sizes of the same param in "
                    f"process 0: {here[0]} is {here[2]} of shape {here[1]} on rank {rank} and {there[2]} of shape {there[1]} on rank 0; "
                    "make the same model on all ranks"
                )


def broadcast_coalesced(group: Any, tensors: Iterable[Tensor], size: int, src: int = 0) -> None:
    """Give tensors the values that process `src` of the group has, in messages of about `size` bytes."""
    found = require(group)
    if found.size() == 1:
        return
    with no_grad():
        for part in _portions([tensor.detach() for tensor in tensors], size):
            whole = part[0] if len(part) == 1 else cat([tensor.reshape(-1) for tensor in part])
            broadcast(whole, group=found, group_src=src)
            if len(part) > 1 and found.rank() != src:
                for tensor, values in zip(part, whole.split([tensor.numel() for tensor in part]), strict=True):
                    tensor.copy_(values.view(tensor.shape))


def _portions(tensors: Sequence[Tensor], size: int) -> list[list[Tensor]]:
    """Tensors of the same dtype, together about as large as `size`."""
    made: list[list[Tensor]] = []
    last: dict[Any, tuple[list[Tensor], int]] = {}
    for tensor in tensors:
        own = tensor.numel() * tensor.element_size()
        part, so_far = last.get(tensor.dtype, ([], size))
        if so_far + own > size:
            part, so_far = [], 0
            made.append(part)
        part.append(tensor)
        last[tensor.dtype] = part, so_far + own
    return made


_broadcast_coalesced = broadcast_coalesced  # PyTorch's name


def _verify_params_across_processes(process_group: Any, tensors: Sequence[Tensor], logger: Any = None) -> None:
    verify(process_group, [(f"parameter {place}", tensor) for place, tensor in enumerate(tensors)])
