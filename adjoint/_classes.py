"""PyTorch's `torch.classes`: classes that a compiled library defines. None can be loaded here, so there are none."""

from __future__ import annotations

from types import ModuleType

from ._standing import refused


class _Namespace(ModuleType):
    """The classes of one library: asking for one is an error."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = self.__name__.rpartition(".")[2]
        raise RuntimeError(
            f"Tried to instantiate class '{namespace}.{name}', but it does not exist! It comes with a library compiled for PyTorch, which "
            "cannot be loaded here; use what its package does without the library"
        )


class _Classes(ModuleType):
    loaded_libraries: frozenset[str] = frozenset()

    def __getattr__(self, name: str) -> _Namespace:
        if name.startswith("__"):
            raise AttributeError(name)
        found = _Namespace(f"{self.__name__}.{name}")
        setattr(self, name, found)
        return found

    @staticmethod
    @refused("the library is compiled for PyTorch, and cannot be loaded here; use what its package does without it")
    def load_library(path: str) -> None:
        """Load a compiled library."""


classes = _Classes("torch.classes")
