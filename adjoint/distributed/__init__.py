"""PyTorch's `torch.distributed`: several processes over MPI, and groups of one without it.

`_transport` says how values get from process to process, `_groups` which processes there are, `_collectives`, `_messages` and `_objects`
what they do together, and `_work` what is under way; everything else is written on these.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from .._homes import settle
from .._standing import inert
from ._collectives import *  # noqa: F403
from ._collectives import _all_gather_base as _all_gather_base
from ._collectives import _coalescing_manager as _coalescing_manager
from ._collectives import _reduce_scatter_base as _reduce_scatter_base
from ._debug import DebugLevel as DebugLevel
from ._debug import get_debug_level as get_debug_level
from ._debug import set_debug_level as set_debug_level
from ._debug import set_debug_level_from_env as set_debug_level_from_env
from ._errors import DistBackendError as DistBackendError
from ._errors import DistError as DistError
from ._errors import DistNetworkError as DistNetworkError
from ._errors import DistStoreError as DistStoreError
from ._errors import QueueEmptyError as QueueEmptyError
from ._groups import *  # noqa: F403
from ._groups import _get_default_group as _get_default_group
from ._groups import _pg_map as _pg_map
from ._groups import _rank_not_in_group as _rank_not_in_group
from ._groups import require as require
from ._messages import *  # noqa: F403
from ._objects import *  # noqa: F403
from ._stores import FileStore as FileStore
from ._stores import HashStore as HashStore
from ._stores import PrefixStore as PrefixStore
from ._stores import Store as Store
from ._stores import TCPStore as TCPStore
from ._stores import rendezvous as rendezvous

F = TypeVar("F", bound=Callable[..., Any])


@inert("nothing is logged")
def record_comm(*args: Any, **kwargs: Any) -> None:
    """Nothing happens."""


settle(
    __name__,
    {"distributed_c10d": ("", "_collectives", "_groups", "_messages", "_objects", "_stores", "_work"), "constants": ("_groups",)},
)

_LAZY = frozenset(
    {"_composable", "_functional_collectives", "_tensor", "algorithms", "autograd", "checkpoint", "device_mesh", "elastic", "fsdp",
     "launch", "launcher", "nn", "optim", "pipelining", "rpc", "run", "tensor", "utils"}
)  # fmt: skip
_NAMES = {
    "GradBucket": "._buckets",
    "Reducer": "._reducer",
    "_broadcast_coalesced": "._replicas",
    "_verify_params_across_processes": "._replicas",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return import_module(f".{name}", __name__)
    if name in ("DeviceMesh", "init_device_mesh"):
        return getattr(import_module(".device_mesh", __name__), name)
    if name in _NAMES:
        return getattr(import_module(_NAMES[name], __name__), name)
    if name == "default_pg_timeout":
        from ._groups import default_pg_timeout

        return default_pg_timeout
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
