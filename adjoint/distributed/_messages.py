"""Messages from one process to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._tensor import Tensor
from ._buffers import check_tensor, elements, put
from ._groups import ProcessGroup, member, root_of
from ._work import ANYONE, Work, perform


def _receiver(group: ProcessGroup, dst: int | None, group_dst: int | None) -> int:
    rank = root_of(group, dst, group_dst)
    if rank == group.rank():
        raise ValueError("Invalid destination rank: destination rank should not be the same as the rank of the current process.")
    return rank


def _sender(group: ProcessGroup, src: int | None, group_src: int | None) -> int | None:
    """The number in its group of the process that sends; None for any."""
    if src is None and group_src is None:
        return None
    rank = root_of(group, src, group_src)
    if rank == group.rank():
        raise ValueError("Invalid source rank: source rank should not be the same as the rank of the current process.")
    return rank


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to a process."""
    _send("send", tensor, dst, group, tag, group_dst, False)


def isend(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> Work | None:
    """`send` that goes on: the tensor must not be written to until one has waited for it."""
    return _send("isend", tensor, dst, group, tag, group_dst, True)


def _send(
    name: str, tensor: Tensor, dst: int | None, group: Any, tag: int, group_dst: int | None, async_op: bool
) -> Work | None:
    check_tensor(tensor, "tensor")
    if (found := member(group, name)) is None:
        return None
    array, rank = elements(tensor), _receiver(found, dst, group_dst)
    return perform(found, name, lambda later: found._transport.send(array, rank, tag, later), None, [tensor], async_op, rank)


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Write into a tensor what a process sends, any if none is named; return which."""
    check_tensor(tensor, "tensor")
    if (found := member(group, "recv")) is None:
        return -1
    array, rank = elements(tensor), _sender(found, src, group_src)
    senders: list[int] = []
    perform(
        found, "recv", lambda later: senders.append(found._transport.receive(array, rank, tag)), lambda: put(tensor, array), [tensor],
        peer=ANYONE if rank is None else rank,
    )  # fmt: skip
    return found._ranks[senders[0]]


def irecv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> Work | None:
    """`recv` that goes on: what is sent is in the tensor when one has waited for it."""
    check_tensor(tensor, "tensor")
    if (found := member(group, "irecv")) is None:
        return None
    array, rank = elements(tensor), _sender(found, src, group_src)

    def begin(later: bool) -> Any:
        return found._transport.receive(array, rank, tag, later)

    return perform(found, "irecv", begin, lambda: put(tensor, array), [tensor], True, ANYONE if rank is None else rank)


class P2POp:
    """A message to send or to receive, for `batch_isend_irecv`."""

    def __init__(
        self, op: Callable[..., Any], tensor: Tensor, peer: int | None = None, group: Any = None, tag: int = 0,
        group_peer: int | None = None,
    ) -> None:  # fmt: skip
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``.")
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = op, tensor, peer, group, tag, group_peer


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin to send and receive several messages."""
    if not isinstance(p2p_op_list, list) or not p2p_op_list or not all(isinstance(one, P2POp) for one in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    if any(one.group is not p2p_op_list[0].group for one in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    works = [one.op(one.tensor, one.peer, one.group, one.tag, one.group_peer) for one in p2p_op_list]
    return [work for work in works if work is not None]


__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]
