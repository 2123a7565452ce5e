"""Runs a program of `programs/`, with PyTorch or with adjoint as torch, and keeps its results: `python program.py PROGRAM RESULTS.npz`."""

import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import numpy as np


def arrays(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A result as arrays of numbers: of tensors, whatever their dtype and history, of numbers, and of containers of both."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from arrays(f"{name}.{key}" if name else key, item)
    elif isinstance(value, list | tuple) and not all(isinstance(item, int | float | str) for item in value):
        for place, item in enumerate(value):
            yield from arrays(f"{name}.{place}", item)
    elif value is not None:
        yield name, array(value)


def array(value: Any) -> Any:
    if not hasattr(value, "detach"):
        return np.asarray(value)
    value = value.detach().resolve_conj()
    value = value.to_dense() if "sparse" in str(value.layout) else value
    return (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()


def make_torchvision_importable() -> None:
    """Beside a build of PyTorch that its compiled library does not belong to, torchvision misses two names that it registers more for."""
    import torch

    if "adjoint" in sys.modules:  # which needs none
        return
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        for name in ("nms", "qnms"):
            torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    except ImportError:  # it is not installed
        pass


def main(program: str, results: str) -> None:
    make_torchvision_importable()
    spec = spec_from_file_location("readme", program)
    assert spec is not None and spec.loader is not None
    module = sys.modules["readme"] = module_from_spec(spec)  # some libraries read the source of classes where they find them
    spec.loader.exec_module(module)
    np.savez(results, **dict(arrays("", module.main())))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
