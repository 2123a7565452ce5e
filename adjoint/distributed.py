"""PyTorch's `torch.distributed` for a group of one process: what it sends to all others comes back to itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NoReturn

from ._tensor import Tensor

_group: list[str] = []  # the name of the backend, once there is a group


class ReduceOp:
    """How values of several processes are combined."""

    SUM, AVG, PRODUCT, MIN, MAX = "SUM", "AVG", "PRODUCT", "MIN", "MAX"


class Work:
    """A communication that is done."""

    def wait(self, timeout: Any = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True


def is_available() -> bool:
    """True: there can be a group of one process."""
    return True


def is_initialized() -> bool:
    return bool(_group)


def is_torchelastic_launched() -> bool:
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_nccl_available() -> bool:
    return False


def is_gloo_available() -> bool:
    return True


def is_mpi_available() -> bool:
    return False


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: Any = None, world_size: int = -1, rank: int = -1,
    store: Any = None, group_name: str = "", pg_options: Any = None, device_id: Any = None,
) -> None:  # fmt: skip
    """Make the group. It may have one process only: `world_size`, or WORLD_SIZE in the environment, has to be 1."""
    if _group:
        raise ValueError("trying to initialize the default process group twice!")
    name = (backend or "gloo").lower()
    if name not in ("gloo", "cpu:gloo", "cpu:gloo,cuda:nccl", "undefined"):
        raise RuntimeError(f"Distributed package doesn't have {name.upper()} built in: adjoint runs on the CPU; write backend='gloo'")
    size = _number(world_size, "WORLD_SIZE", "world_size")
    number = _number(rank, "RANK", "rank")
    if size != 1 or number:
        raise RuntimeError(
            f"adjoint runs a program in one process, not as rank {number} of {size}; start it without a launcher, with world_size=1"
        )
    _group.append(name)


def _number(given: int, variable: str, name: str) -> int:
    if given >= 0:
        return given
    if variable not in os.environ:
        raise ValueError(
            f"Error initializing torch.distributed using env:// rendezvous: environment variable {variable} expected, but not set; "
            f"write init_process_group('gloo', rank=0, world_size=1), or set it ({name})"
        )
    return int(os.environ[variable])


def _require_group() -> None:
    if not _group:
        _refuse()


def _refuse() -> NoReturn:
    raise ValueError(
        "Default process group has not been initialized, please make sure to call init_process_group: "
        "torch.distributed.init_process_group('gloo', rank=0, world_size=1)"
    )


def destroy_process_group(group: Any = None) -> None:
    _require_group()
    _group.clear()


def get_rank(group: Any = None) -> int:
    _require_group()
    return 0


def get_world_size(group: Any = None) -> int:
    _require_group()
    return 1


def get_backend(group: Any = None) -> str:
    _require_group()
    return _group[0]


def new_group(ranks: Any = None, *args: Any, **kwargs: Any) -> str:
    """A group of this process."""
    _require_group()
    return "group of one"


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Nothing to wait for."""
    return _done(async_op)


def _done(async_op: bool) -> Work | None:
    _require_group()
    return Work() if async_op else None


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """The combination of one tensor is the tensor."""
    return _done(async_op)


def reduce(tensor: Tensor, dst: int = 0, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    return _done(async_op)


def broadcast(tensor: Tensor, src: int = 0, group: Any = None, async_op: bool = False) -> Work | None:
    return _done(async_op)


def broadcast_object_list(object_list: list[Any], src: int = 0, group: Any = None, device: Any = None) -> None:
    _require_group()


def all_gather(tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Write the tensor to the one in the list."""
    done = _done(async_op)
    (target,) = tensor_list
    target.detach().copy_(tensor.detach())
    return done


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    _require_group()
    object_list[0] = obj


def gather(tensor: Tensor, gather_list: Sequence[Tensor] | None = None, dst: int = 0, group: Any = None, async_op: bool = False) -> Any:
    return all_gather(gather_list or (), tensor, group, async_op)


def scatter(tensor: Tensor, scatter_list: Sequence[Tensor] | None = None, src: int = 0, group: Any = None, async_op: bool = False) -> Any:
    """Read the tensor from the one in the list."""
    (source,) = scatter_list or ()
    return all_gather((tensor,), source, group, async_op)
