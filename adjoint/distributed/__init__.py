"""PyTorch's `torch.distributed`, for a group of one process.

`_transport` says how values get from process to process, `_groups` which processes there are, and `_collectives` what they do together;
everything else is written on these.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from importlib import import_module
from typing import Any, TypeVar

from .._homes import settle
from .._standing import inert
from ._collectives import *  # noqa: F403
from ._collectives import _all_gather_base as _all_gather_base
from ._collectives import _coalescing_manager as _coalescing_manager
from ._collectives import _reduce_scatter_base as _reduce_scatter_base
from ._groups import *  # noqa: F403
from ._groups import _get_default_group as _get_default_group
from ._groups import _pg_map as _pg_map
from ._groups import _rank_not_in_group as _rank_not_in_group
from ._groups import require as require
from ._stores import FileStore as FileStore
from ._stores import HashStore as HashStore
from ._stores import PrefixStore as PrefixStore
from ._stores import Store as Store
from ._stores import TCPStore as TCPStore
from ._stores import rendezvous as rendezvous

F = TypeVar("F", bound=Callable[..., Any])


class DistError(RuntimeError):
    """What PyTorch raises where processes fail to talk to each other."""


class DistBackendError(DistError):
    """The same, of a backend."""


class DistNetworkError(DistError):
    """The same, of a network."""


class DistStoreError(DistError):
    """The same, of a store."""


class DebugLevel(Enum):
    """How much is checked and told."""

    OFF, INFO, DETAIL = range(3)


_debug = [DebugLevel.OFF]


def get_debug_level() -> DebugLevel:
    return _debug[0]


def set_debug_level(level: DebugLevel) -> None:
    """Kept; arguments are checked at every level."""
    _debug[0] = level


@inert("nothing is logged")
def record_comm(*args: Any, **kwargs: Any) -> None:
    """Nothing happens."""


def _verify_params_across_processes(process_group: Any, tensors: Any, logger: Any = None) -> None:
    """Nothing to compare: there is one process."""
    require(process_group)


def _broadcast_coalesced(process_group: Any, tensors: Any, buffer_size: int, src: int = 0) -> None:
    """`broadcast` of several tensors."""
    for tensor in tensors:
        broadcast(tensor, src, process_group)  # noqa: F405


settle(__name__, {"distributed_c10d": ("", "_collectives", "_groups", "_stores"), "constants": ("_groups",)})

_LAZY = frozenset(
    {"_composable", "_functional_collectives", "_tensor", "algorithms", "autograd", "checkpoint", "device_mesh", "elastic", "fsdp",
     "launch", "launcher", "nn", "optim", "pipelining", "rpc", "run", "tensor", "utils"}
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return import_module(f".{name}", __name__)
    if name in ("DeviceMesh", "init_device_mesh"):
        return getattr(import_module(".device_mesh", __name__), name)
    if name == "default_pg_timeout":
        from ._groups import default_pg_timeout

        return default_pg_timeout
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
