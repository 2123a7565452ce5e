"""PyTorch's `torch.distributed.fsdp.wrap`: which modules to divide over processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ...nn import Module, ModuleDict, ModuleList, MultiheadAttention


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Every module."""
    return True


def lambda_auto_wrap_policy(module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]) -> bool:
    """The modules of which a function is true."""
    return recurse or bool(lambda_fn(module))


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: Iterable[type[Module]]
) -> bool:
    """The modules of some classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


_module_wrap_policy = transformer_auto_wrap_policy


def size_based_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, min_num_params: int = 100_000_000,
    force_leaf_modules: Iterable[type[Module]] | None = None, exclude_wrap_modules: Iterable[type[Module]] | None = None,
) -> bool:  # fmt: skip
    """The modules that have many parameters: not what is inside attention layers, nor lists and tables of modules themselves."""
    whole = (MultiheadAttention,) if force_leaf_modules is None else tuple(force_leaf_modules)
    holders = (ModuleList, ModuleDict) if exclude_wrap_modules is None else tuple(exclude_wrap_modules)
    return nonwrapped_numel >= min_num_params and not isinstance(module, whole if recurse else holders)


def _or_policy(module: Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Callable[..., bool]]) -> bool:
    """The modules that one of several policies chooses."""
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


class ModuleWrapPolicy:
    """The modules of some classes."""

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._module_classes = set(module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, tuple(self._module_classes))


class CustomPolicy:
    """The modules of which a function is true, or gives settings."""

    def __init__(self, lambda_fn: Callable[[Module], Any]) -> None:
        self._lambda_fn = lambda_fn


@contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Inside the `with` block, `wrap(module)` is `wrapper_cls(module, **wrapper_kwargs)`."""
    _wrapping.append((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _wrapping.pop()


_wrapping: list[tuple[Any, dict[str, Any]]] = []


def wrap(module: Module, **wrap_overrides: Any) -> Any:
    """A module in the class that `enable_wrap` names; as it is, outside of it."""
    if not _wrapping:
        return module
    cls, settings = _wrapping[-1]
    return cls(module, **settings | wrap_overrides)
