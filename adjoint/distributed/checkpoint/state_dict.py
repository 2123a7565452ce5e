"""PyTorch's `torch.distributed.checkpoint.state_dict`: state dicts by the names of parameters, whatever a model is wrapped in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...nn import Module
from ...optim import Optimizer

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
    "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip

_WRAPPERS = ("module.", "_orig_mod.", "_checkpoint_wrapped_module.")


@dataclass
class StateDictOptions:
    """What a state dict has. In one process it is always full, and on the CPU."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _plain(name: str) -> str:
    """A name without the wrappers' own."""
    for wrapper in _WRAPPERS:
        name = name.replace(wrapper, "")
    return name


def _names(model: Module) -> dict[Any, str]:
    """The names of a model's parameters."""
    return {parameter: _plain(name) for name, parameter in model.named_parameters()}


def _refuse_flat(options: StateDictOptions | None) -> StateDictOptions:
    options = options or StateDictOptions()
    if options.flatten_optimizer_state_dict:
        raise NotImplementedError("flatten_optimizer_state_dict: adjoint keeps the state by parameters; leave the option out")
    return options


def get_model_state_dict(model: Module, *, submodules: Any = None, options: StateDictOptions | None = None) -> dict[str, Any]:
    """The state dict of a model, without the names of what it is wrapped in."""
    if submodules:
        raise NotImplementedError("get_model_state_dict: adjoint has no state dicts of several submodules; take that of each submodule")
    frozen = {_plain(name) for name, parameter in model.named_parameters() if not parameter.requires_grad}
    skipped = frozen if options is not None and options.ignore_frozen_params else set()
    return {_plain(key): value for key, value in model.state_dict().items() if _plain(key) not in skipped}


def set_model_state_dict(model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None) -> Any:
    """Load such a state dict."""
    own = {_plain(key): key for key in model.state_dict()}
    strict = options.strict if options is not None else True
    return model.load_state_dict({own.get(key, key): value for key, value in model_state_dict.items()}, strict=strict)


def get_optimizer_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The states of optimizers, by the names of the parameters."""
    _refuse_flat(options)
    names = _names(model)
    made: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers):
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter in optimizer.state:
                    made["state"][names[parameter]] = optimizer.state[parameter]
            made["param_groups"].append({**group, "params": [names[parameter] for parameter in group["params"]]})
    return made


def set_optimizer_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> None:
    """Load such states."""
    _refuse_flat(options)
    names = _names(model)
    saved = {name: group for group in optim_state_dict["param_groups"] for name in group["params"]}
    for optimizer in [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers):
        numbered = optimizer.state_dict()
        state, number = {}, 0
        for group, plain in zip(optimizer.param_groups, numbered["param_groups"], strict=True):
            for parameter in group["params"]:
                name = names[parameter]
                if name in optim_state_dict["state"]:
                    state[number] = optim_state_dict["state"][name]
                number += 1
            plain.update({key: value for key, value in saved.get(name, {}).items() if key not in ("params", "param_names")})
        optimizer.load_state_dict({"state": state, "param_groups": numbered["param_groups"]})


def get_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, submodules: Any = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both."""
    return get_model_state_dict(model, submodules=submodules, options=options), get_optimizer_state_dict(model, optimizers, options=options)


def set_state_dict(
    model: Module, optimizers: Optimizer | Iterable[Optimizer], *, model_state_dict: dict[str, Any], optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:  # fmt: skip
    """Both."""
    result = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return result
