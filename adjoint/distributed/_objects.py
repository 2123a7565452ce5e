"""What processes do together with objects that can be pickled: the same collectives, on the bytes of the pickles."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from ._groups import ProcessGroup, member, root_of
from ._messages import _receiver, _sender
from ._work import ANYONE, perform

_TAG = 32766  # of messages that are objects, which no message of tensors meets


def _pickled(value: Any) -> Any:
    return np.frombuffer(bytearray(pickle.dumps(value)), np.uint8)


def _length(array: Any) -> Any:
    return np.array([array.size], np.int64)


def _padded(array: Any, length: Any) -> Any:
    return np.concatenate([array, np.zeros(int(length) - array.size, np.uint8)])


def _rows(array: Any, lengths: Any) -> list[Any]:
    return [pickle.loads(row[:length].tobytes()) for row, length in zip(array.reshape(len(lengths), -1), lengths, strict=True)]


def _do(group: ProcessGroup, name: str, call: Callable[..., Any], *arguments: Any, peer: int | None = None) -> None:
    perform(group, name, lambda later: call(*arguments), peer=peer)


def _lengths(group: ProcessGroup, name: str, own: Any) -> Any:
    """How long each process's bytes are."""
    lengths = np.empty(group.size(), np.int64)
    _do(group, name, group._transport.all_gather, lengths, _length(own))
    return lengths


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Write the objects of all processes into a list."""
    if (found := member(group, "all_gather_object")) is None:
        return
    own = _pickled(obj)
    lengths = _lengths(found, "all_gather_object", own)
    gathered = np.empty((found.size(), lengths.max()), np.uint8)
    _do(found, "all_gather_object", found._transport.all_gather, gathered, _padded(own, lengths.max()))
    for place, value in enumerate(_rows(gathered, lengths)):
        object_list[place] = value


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None, group_dst: int | None = None
) -> None:
    """The same into the list of process `dst`; 0 if it is not said."""
    if (found := member(group, "gather_object")) is None:
        return
    root = root_of(found, dst, group_dst, otherwise=0)
    if root == found.rank() and not object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
    if root != found.rank() and object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must NOT be specified on non-destination ranks.")
    own = _pickled(obj)
    lengths = _lengths(found, "gather_object", own)
    gathered = np.empty((found.size(), lengths.max()), np.uint8) if root == found.rank() else None
    _do(found, "gather_object", found._transport.gather, gathered, _padded(own, lengths.max()), root)
    if gathered is not None and object_gather_list is not None:
        object_gather_list[: found.size()] = _rows(gathered, lengths)


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Write the objects of process `src` into the list of each; 0 if it is not said."""
    if not object_list:
        raise ValueError("object_list has to have a place for each object, such as [None]")
    if (found := member(group, "broadcast_object_list")) is None:
        return
    root = root_of(found, src, group_src, otherwise=0)
    own = _pickled(object_list if found.rank() == root else None)
    length = _length(own)
    _do(found, "broadcast_object_list", found._transport.broadcast, length, root)
    if found.rank() != root:
        own = np.empty(length[0], np.uint8)
    _do(found, "broadcast_object_list", found._transport.broadcast, own, root)
    if found.rank() != root:
        object_list[:] = pickle.loads(own.tobytes())


def scatter_object_list(
    scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None, src: int | None = None, group: Any = None,
    group_src: int | None = None,
) -> None:  # fmt: skip
    """Write into the list of each process, as its first object, one of those that process `src` gives."""
    if (found := member(group, "scatter_object_list")) is None:
        return
    if not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root = root_of(found, src, group_src, otherwise=0)
    lengths, given = np.zeros(found.size(), np.int64), None
    if root == found.rank():
        if len(scatter_object_input_list or ()) != found.size():
            raise ValueError(f"scatter_object_input_list has to have an object for each of the {found.size()} processes on the source rank")
        parts = [_pickled(one) for one in scatter_object_input_list or ()]
        lengths[:] = [part.size for part in parts]
        given = np.concatenate([_padded(part, lengths.max()) for part in parts])
    _do(found, "scatter_object_list", found._transport.broadcast, lengths, root)
    own = np.empty(lengths.max(), np.uint8)
    _do(found, "scatter_object_list", found._transport.scatter, own, given, root)
    scatter_object_output_list[0] = pickle.loads(own[: lengths[found.rank()]].tobytes())


def send_object_list(
    object_list: list[Any], dst: int | None = None, group: Any = None, device: Any = None, group_dst: int | None = None,
    use_batch: bool = False,
) -> None:  # fmt: skip
    """Send objects to a process."""
    if (found := member(group, "send_object_list")) is None:
        return
    own, rank = _pickled(object_list), _receiver(found, dst, group_dst)
    _do(found, "send_object_list", found._transport.send, _length(own), rank, _TAG, peer=rank)
    _do(found, "send_object_list", found._transport.send, own, rank, _TAG, peer=rank)


def recv_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None,
    use_batch: bool = False,
) -> int:  # fmt: skip
    """Write into a list the objects that a process sends."""
    if (found := member(group, "recv_object_list")) is None:
        return -1
    rank, length = _sender(found, src, group_src), np.zeros(1, np.int64)
    senders: list[int] = []
    peer = ANYONE if rank is None else rank
    perform(found, "recv_object_list", lambda later: senders.append(found._transport.receive(length, rank, _TAG)), peer=peer)
    own = np.empty(length[0], np.uint8)
    _do(found, "recv_object_list", found._transport.receive, own, senders[0], _TAG, peer=senders[0])
    object_list[:] = pickle.loads(own.tobytes())
    return found._ranks[senders[0]]


__all__ = [
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list", "send_object_list",
]  # fmt: skip
