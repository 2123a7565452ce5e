"""PyTorch's `torch.distributed.run`, which starts a program in several processes. Here it runs in one."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from .._standing import refused

_no_launcher = refused("adjoint runs a program in one process; start it with `python program.py`, without a launcher", RuntimeError)


def get_args_parser() -> ArgumentParser:
    """The arguments that the launcher takes."""
    parser = ArgumentParser(description="Start a program in several processes")
    for name, kind, default in (
        ("nnodes", str, "1:1"), ("nproc-per-node", str, "1"), ("node-rank", int, 0), ("master-addr", str, "127.0.0.1"),
        ("master-port", int, 29500), ("rdzv-backend", str, "static"), ("rdzv-endpoint", str, ""), ("rdzv-id", str, "none"),
        ("rdzv-conf", str, ""), ("max-restarts", int, 0), ("monitor-interval", float, 0.1), ("start-method", str, "spawn"),
        ("role", str, "default"), ("log-dir", str, None), ("redirects", str, "0"), ("tee", str, "0"), ("local-addr", str, None),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", f"--{name.replace('-', '_')}", type=kind, default=default)
    for name in ("standalone", "module", "no-python", "run-path"):
        parser.add_argument(f"--{name}", f"--{name.replace('-', '_')}", action="store_true")
    parser.add_argument("training_script", type=str)
    parser.add_argument("training_script_args", nargs="...")
    return parser


@_no_launcher
def run(args: Any) -> Any: ...


@_no_launcher
def main(args: Any = None) -> Any: ...
