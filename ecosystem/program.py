"""Runs a program of `programs/`, with PyTorch or with adjoint as torch, and keeps its results: `python program.py PROGRAM RESULTS.npz`."""

import runpy
import sys
from typing import Any

import numpy as np


def array(value: Any) -> Any:
    """A result as numbers: of a tensor, whatever its dtype and history, of a number or of a list."""
    if hasattr(value, "detach"):
        value = value.detach().resolve_conj()
        value = value.to_dense() if "sparse" in str(value.layout) else value
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
        return value.numpy()
    if isinstance(value, (list, tuple)):
        return np.asarray([array(item) for item in value])
    return np.asarray(value)


def main(program: str, results: str) -> None:
    found = runpy.run_path(program)["main"]()
    np.savez(results, **{name: array(value) for name, value in found.items()})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
