"""PyTorch's `torch.distributed.launcher`: a function, or a command, in several processes on this machine."""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..._homes import settle
from ..._kernels.pool import usable_cpus
from ...multiprocessing import ProcessException, start_processes
from .._launching import Launch, start
from .._outputs import PREFIX, Showing
from .._stores import TCPStore
from ..elastic import ChildFailedError, ProcessFailure


@dataclass
class LaunchConfig:
    """How many processes to start, and how often again when one fails."""

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: Any = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: Any = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    duplicate_stdout_filters: list[str] | None = None
    duplicate_stderr_filters: list[str] | None = None
    virtual_local_rank: bool = False
    shutdown_timeout: int | None = None

    def __post_init__(self) -> None:
        for name in ("logs_specs", "numa_options", "duplicate_stdout_filters", "duplicate_stderr_filters", "virtual_local_rank"):
            if getattr(self, name):
                raise NotImplementedError(f"LaunchConfig: adjoint's launcher has no {name}; leave it out")


class elastic_launch:
    """Call it with arguments, and the function is called with them in every process.

    >>> def square(x):
    ...     return x * x
    >>> config = LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2, start_method="fork")
    >>> elastic_launch(config, square)(3)
    {0: 9, 1: 9}
    """

    def __init__(self, config: LaunchConfig, entrypoint: Callable[..., Any] | str | None, health_check_server: Any = None) -> None:
        self._config, self._entrypoint, self._server = config, entrypoint, health_check_server

    def __call__(self, *args: Any) -> dict[int, Any]:
        return launch_agent(self._config, self._entrypoint, list(args), self._server)


def launch_agent(
    config: LaunchConfig, entrypoint: Callable[..., Any] | str | None, args: list[Any], health_check_server: Any = None
) -> dict[int, Any]:
    """What every rank's function has returned, by rank; None for commands. ChildFailedError if one has failed for the last time."""
    if health_check_server is not None:
        raise NotImplementedError("launch_agent: adjoint's launcher serves no health checks; leave health_check_server out")
    if config.min_nodes > 1:
        raise RuntimeError(
            f"launch_agent: a function can be started on this machine only, not on {config.min_nodes}; for several machines write a script "
            "and start it with `python -m adjoint launch --host first,second script.py`"
        )
    if entrypoint is None:
        raise ValueError("launch_agent: entrypoint is None; give a function or a command")
    if isinstance(entrypoint, str):
        return _of_command(config, [entrypoint, *map(str, args)])
    for attempt in range(config.max_restarts + 1):
        try:
            return _of_function(config, entrypoint, args, attempt)
        except ChildFailedError:
            if attempt == config.max_restarts:
                raise
    raise AssertionError("there is a last attempt")


def _of_command(config: LaunchConfig, command: list[str]) -> dict[int, Any]:
    template = config.log_line_prefix_template or PREFIX
    error = start(
        Launch(
            command, config.nproc_per_node, no_python=True, run_id=config.run_id or "none", role=config.role,
            max_restarts=config.max_restarts, interval=config.monitor_interval, shutdown_timeout=config.shutdown_timeout or 30,
            signals=[signal.Signals[name] for name in config.signals_to_handle.split(",")], showing=lambda attempt: Showing(template),
        ),
        print,
    )  # fmt: skip
    if error is not None:
        raise error
    return dict.fromkeys(range(config.nproc_per_node))


def _of_function(config: LaunchConfig, function: Callable[..., Any], args: list[Any], attempt: int) -> dict[int, Any]:
    ranks = config.nproc_per_node
    store = TCPStore("127.0.0.1", 0, is_master=True)
    common = {
        "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks, "ROLE_WORLD_SIZE": ranks, "GROUP_RANK": 0, "GROUP_WORLD_SIZE": 1,
        "ROLE_NAME": config.role, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": store.port, "TORCHELASTIC_USE_AGENT_STORE": True,
        "TORCHELASTIC_RUN_ID": config.run_id or uuid.uuid4().hex, "TORCHELASTIC_RESTART_COUNT": attempt,
        "TORCHELASTIC_MAX_RESTARTS": config.max_restarts,
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS") or max(1, usable_cpus() // ranks),
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, _environment({name: str(value) for name, value in common.items()}):
        try:
            start_processes(_entered, (function, args, folder), ranks, start_method=config.start_method)
        except ProcessException as error:
            code = getattr(error, "exit_code", 1)
            failure = ProcessFailure(error.error_index, error.pid or 0, code, "<N/A>", error.msg.strip())
            raise ChildFailedError(getattr(function, "__qualname__", str(function)), {error.error_index: failure}) from None
        return {rank: pickle.loads(Path(folder, str(rank)).read_bytes()) for rank in range(ranks)}


def _entered(rank: int, function: Callable[..., Any], args: list[Any], folder: str) -> None:
    """What each process does."""
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), ROLE_RANK=str(rank))
    Path(folder, str(rank)).write_bytes(pickle.dumps(function(*args)))


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Variables for processes that are started meanwhile: NumPy reads some of them before anything else of ours runs."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


settle(__name__, {"api": ("",)})
