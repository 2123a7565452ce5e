"""PyTorch's `torch.multiprocessing`: Python's own module. Tensors are copied from process to process, unless `share_memory_` was called."""

from __future__ import annotations

import multiprocessing as _python
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from typing import Any

from . import _sharing  # noqa: F401  # how tensors are pickled that go to another process

_strategy = ["file_system"]


def get_all_sharing_strategies() -> set[str]:
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    return _strategy[0]


def set_sharing_strategy(new_strategy: str) -> None:
    """Kept; there is one way of sharing."""
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"Unknown sharing strategy {new_strategy!r}: choose one of {sorted(get_all_sharing_strategies())}")
    _strategy[0] = new_strategy


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> list[Any] | None:
    """Run `fn(i, *args)` in process i of `nprocs`. Where one fails, so does this, after all have ended."""
    context = _python.get_context(start_method)
    processes = [context.Process(target=fn, args=(i, *args), daemon=daemon) for i in range(nprocs)]  # type: ignore[attr-defined]
    for process in processes:
        process.start()
    if not join:
        return processes
    for process in processes:
        process.join()
    failed = [i for i, process in enumerate(processes) if process.exitcode]
    if failed:
        raise RuntimeError(f"process {failed[0]} terminated with exit code {processes[failed[0]].exitcode}: its own traceback is above")
    return None
