"""PyTorch's `checkpoint_wrapper`: modules whose activations are computed again in the backward pass instead of being kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import partial
from typing import Any

from ..._standing import refused
from ...nn import Module
from ...utils.checkpoint import checkpoint

_PREFIX = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = f"{_PREFIX}."


class CheckpointImpl(Enum):
    """Which of `utils.checkpoint`'s two forms is used."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Module):
    """A module in another, whose names do not show it."""

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(_without_prefix)
        self.register_load_state_dict_pre_hook(_with_prefix)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.__dict__["_modules"][_PREFIX], name)

    def __getitem__(self, key: int) -> Any:
        return self._checkpoint_wrapped_module[key]  # type: ignore[index]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), parameter


def _without_prefix(module: Module, state_dict: dict[str, Any], prefix: str, *args: Any) -> dict[str, Any]:
    _rename(state_dict, prefix + _CHECKPOINT_PREFIX, prefix)
    return state_dict


def _with_prefix(module: Module, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
    _rename(state_dict, prefix, prefix + _CHECKPOINT_PREFIX)


def _rename(state_dict: dict[str, Any], old: str, new: str) -> None:
    for key in [key for key in state_dict if key.startswith(old)]:
        state_dict[new + key.removeprefix(old)] = state_dict.pop(key)


class CheckpointWrapper(ActivationWrapper):
    """A module whose activations are computed again in the backward pass."""

    def __init__(
        self, mod: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT, checkpoint_fn: Any = None, **options: Any
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        reentrant = checkpoint_impl is CheckpointImpl.REENTRANT
        self.checkpoint_fn = partial(checkpoint_fn, **options) if checkpoint_fn else partial(checkpoint, use_reentrant=reentrant, **options)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)


def checkpoint_wrapper(
    module: Module, checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT, checkpoint_fn: Any = None, **options: Any
) -> CheckpointWrapper:
    """A module whose activations are computed again in the backward pass."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **options)


@refused("the activations are in the memory of the CPU anyway; write checkpoint_wrapper(module) to keep fewer of them")
def offload_wrapper(module: Module) -> Any: ...


def apply_activation_checkpointing(
    model: Module, checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper, check_fn: Callable[[Module], bool] = bool,
    auto_wrap_policy: Any = None,
) -> None:  # fmt: skip
    """Replace the modules below a model of which `check_fn` is true by wrapped ones, the deepest first."""

    def chosen(module: Module) -> bool:
        if auto_wrap_policy is not None:
            return bool(auto_wrap_policy(module=module, recurse=False, nonwrapped_numel=0))
        return check_fn is bool or check_fn(module)

    for parent in reversed(list(model.modules())):
        for name, child in list(parent.named_children()):
            if not isinstance(child, ActivationWrapper) and chosen(child):
                setattr(parent, name, checkpoint_wrapper_fn(child))
