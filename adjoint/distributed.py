"""PyTorch's `torch.distributed`, as it answers in a program of one process that has not been initialized."""

from __future__ import annotations

from typing import Any, NoReturn


def is_available() -> bool:
    """False: a program runs in one process."""
    return False


def is_initialized() -> bool:
    return False


def is_torchelastic_launched() -> bool:
    return False


def is_nccl_available() -> bool:
    return False


def is_gloo_available() -> bool:
    return False


def is_mpi_available() -> bool:
    return False


def init_process_group(backend: str | None = None, *args: Any, **kwargs: Any) -> NoReturn:
    raise RuntimeError(
        f"Distributed package doesn't have {backend or 'a backend'} built in: adjoint runs a program in one process; "
        "start it without a launcher"
    )


def _refuse() -> NoReturn:
    raise ValueError(
        "Default process group has not been initialized, please make sure to call init_process_group: "
        "adjoint runs a program in one process; test torch.distributed.is_initialized() first"
    )


def get_rank(group: Any = None) -> int:
    _refuse()


def get_world_size(group: Any = None) -> int:
    _refuse()


def get_backend(group: Any = None) -> str:
    _refuse()


def barrier(*args: Any, **kwargs: Any) -> None:
    _refuse()


def all_reduce(tensor: Any, *args: Any, **kwargs: Any) -> None:
    _refuse()


def all_gather(tensor_list: Any, tensor: Any, *args: Any, **kwargs: Any) -> None:
    _refuse()


def broadcast(tensor: Any, *args: Any, **kwargs: Any) -> None:
    _refuse()


def reduce(tensor: Any, *args: Any, **kwargs: Any) -> None:
    _refuse()


def destroy_process_group(group: Any = None) -> None:
    _refuse()


class ReduceOp:
    """How values of several processes are combined."""

    SUM, AVG, PRODUCT, MIN, MAX = "SUM", "AVG", "PRODUCT", "MIN", "MAX"
