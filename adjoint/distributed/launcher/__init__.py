"""PyTorch's `torch.distributed.launcher`, which starts functions in several processes. Here a program runs in one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..._homes import settle
from ..._standing import refused


@dataclass
class LaunchConfig:
    """How many processes to start, and where."""

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


@refused("adjoint runs a program in one process; call the function itself", RuntimeError)
class elastic_launch:
    """Starts a function in several processes."""


settle(__name__, {"api": ("",)})
