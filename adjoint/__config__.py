"""PyTorch's `torch.__config__`: what the library was made with, as text."""

from __future__ import annotations

import numpy as np

from ._kernels import jit, pool


def show() -> str:
    """What computes: NumPy, and LLVM where it is installed."""
    llvm = "LLVM " + ".".join(map(str, jit.llvm().llvm_version_info)) if jit.available() else "no LLVM"
    return f"adjoint built with:\n  - NumPy {np.__version__}\n  - {llvm}\n"


def parallel_info() -> str:
    """How many threads share the work."""
    return f"ATen/Parallel:\n\tat::get_num_threads() : {pool.get_num_threads()}\n"
