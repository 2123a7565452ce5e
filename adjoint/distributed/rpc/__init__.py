"""PyTorch's `torch.distributed.rpc`, calls of functions in other processes, of which there are none."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from ..._homes import settle
from ..._standing import refused

__all__ = [
    "BackendType", "RRef", "TensorPipeRpcBackendOptions", "WorkerInfo", "get_worker_info", "init_rpc", "is_available", "remote",
    "rpc_async", "rpc_sync", "shutdown",
]  # fmt: skip

_no_calls = refused("adjoint's processes call no functions of each other; call the function itself", RuntimeError)
UNSET_RPC_TIMEOUT = -1.0
DEFAULT_RPC_TIMEOUT_SEC = 60.0


def is_available() -> bool:
    """False: there are no other processes to call."""
    return False


class BackendType(Enum):
    """How calls are sent."""

    TENSORPIPE = "TENSORPIPE"


class WorkerInfo(NamedTuple):
    """A process that can be called."""

    name: str
    id: int


class TensorPipeRpcBackendOptions:
    """How long to wait, and where others are found."""

    def __init__(
        self, *, num_worker_threads: int = 16, rpc_timeout: float = DEFAULT_RPC_TIMEOUT_SEC, init_method: str = "env://",
        device_maps: Any = None, devices: Any = None, _transports: Any = None, _channels: Any = None,
    ) -> None:  # fmt: skip
        self.num_worker_threads, self.rpc_timeout, self.init_method = num_worker_threads, rpc_timeout, init_method
        self.device_maps, self.devices = device_maps or {}, devices or []


@_no_calls
def init_rpc(name: str, backend: Any = None, rank: int = -1, world_size: Any = None, rpc_backend_options: Any = None) -> Any: ...


@_no_calls
def shutdown(graceful: bool = True, timeout: float = 0) -> Any: ...


@_no_calls
def rpc_sync(to: Any, func: Any, args: Any = None, kwargs: Any = None, timeout: float = UNSET_RPC_TIMEOUT) -> Any: ...


@_no_calls
def rpc_async(to: Any, func: Any, args: Any = None, kwargs: Any = None, timeout: float = UNSET_RPC_TIMEOUT) -> Any: ...


@_no_calls
def remote(to: Any, func: Any, args: Any = None, kwargs: Any = None, timeout: float = UNSET_RPC_TIMEOUT) -> Any: ...


@_no_calls
def get_worker_info(worker_name: str | None = None) -> Any: ...


class RRef:
    """A value in another process."""

    @_no_calls
    def __init__(self, value: Any, type_hint: Any = None) -> None: ...


PyRRef = RRef


def _is_current_rpc_agent_set() -> bool:
    """False: no calls can be made."""
    return False


def _require_initialized(func: Any) -> Any:
    """Decorates a function that calls other processes: it is refused when it is called, not where it is defined."""
    return _no_calls(func)


@_no_calls
def _all_gather(obj: Any, worker_names: Any = None, timeout: float = UNSET_RPC_TIMEOUT) -> Any: ...


@_no_calls
def _barrier(worker_names: Any) -> Any: ...


settle(__name__, {"api": ("",), "backend_registry": ("",), "constants": ("",), "functions": ("",), "options": ("",)})
