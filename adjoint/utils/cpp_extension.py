"""PyTorch's `torch.utils.cpp_extension`, which adjoint does not have: programs can import it, and are told when they call it."""

from __future__ import annotations

from typing import Any, NoReturn

CUDA_HOME = ROCM_HOME = None


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"{what}: adjoint runs no C++ extensions, which are compiled against PyTorch\n"
        "  fix: write the operation with tensors, or as an autograd.Function on NumPy arrays"
    )


def load(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused."""
    _refuse(f"load({name!r})")


def load_inline(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused."""
    _refuse(f"load_inline({name!r})")


def CppExtension(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused."""
    _refuse(f"CppExtension({name!r})")


def CUDAExtension(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused."""
    _refuse(f"CUDAExtension({name!r})")


class BuildExtension:
    """Refused."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("BuildExtension")

    @classmethod
    def with_options(cls, **options: Any) -> NoReturn:
        _refuse("BuildExtension")


def include_paths(*args: Any, **kwargs: Any) -> list[str]:
    return []


def is_ninja_available() -> bool:
    return False


def verify_ninja_availability() -> None:
    raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it); adjoint loads none")
