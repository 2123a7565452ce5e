"""PyTorch's `torch.utils.cpp_extension`, which adjoint does not have: programs can import it, and are told when they call it."""

from __future__ import annotations

from typing import Any

from .._standing import refused

CUDA_HOME = ROCM_HOME = None

_no_extensions = refused(
    "adjoint runs no C++ extensions, which are compiled against PyTorch\n"
    "  fix: write the operation with tensors, or as an autograd.Function on NumPy arrays"
)


@_no_extensions
def load(name: str, *args: Any, **kwargs: Any) -> Any: ...


@_no_extensions
def load_inline(name: str, *args: Any, **kwargs: Any) -> Any: ...


@_no_extensions
def CppExtension(name: str, *args: Any, **kwargs: Any) -> Any: ...


@_no_extensions
def CUDAExtension(name: str, *args: Any, **kwargs: Any) -> Any: ...


@_no_extensions
class BuildExtension:
    """The command of setuptools that compiles extensions."""

    @classmethod
    @_no_extensions
    def with_options(cls, **options: Any) -> Any: ...


def include_paths(*args: Any, **kwargs: Any) -> list[str]:
    return []


def is_ninja_available() -> bool:
    return False


@refused("Ninja is required to load C++ extensions (pip install ninja to get it); adjoint loads none", RuntimeError)
def verify_ninja_availability() -> None: ...
