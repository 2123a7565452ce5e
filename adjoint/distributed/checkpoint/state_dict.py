"""PyTorch's `torch.distributed.checkpoint.state_dict`: state dicts by the names of parameters, whatever a model is wrapped in.

Tensors in them are divided as the model's are, or whole (`full_state_dict`): gathered from all processes when they are taken, and divided
again when they are set, also where the first process alone has them (`broadcast_from_rank0`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..._creation import empty, zeros_like
from ..._tensor import Tensor
from ...nn import Module
from ...nn.parallel import DataParallel, DistributedDataParallel
from ...optim import Optimizer
from .._collectives import broadcast
from .._groups import get_rank, is_initialized
from .._objects import broadcast_object_list
from ..fsdp._hooks import state_of
from ..tensor._api import DTensor, make, part_of
from ._nested import flatten_state_dict, unflatten_state_dict

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
    "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip

_WRAPPERS = ("_orig_mod", "_checkpoint_wrapped_module", "_fsdp_wrapped_module")
Optimizers = Optimizer | Iterable[Optimizer]


@dataclass
class StateDictOptions:
    """What a state dict has. With `cpu_offload`, one with whole tensors is on the first process only, and empty elsewhere."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _checked(options: StateDictOptions | None, submodules: Any = None) -> StateDictOptions:
    options = options or StateDictOptions()
    if submodules or not options.keep_submodule_prefixes:
        raise NotImplementedError("adjoint has no state dicts of several submodules; take that of each submodule")
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options


def _plain(model: Module, name: str) -> str:
    """A name without those of the wrappers on the way."""
    kept, module = [], model
    for step in name.split("."):
        if step not in _WRAPPERS and not (step == "module" and isinstance(module, DataParallel | DistributedDataParallel)):
            kept.append(step)
        module = getattr(module, step, None)  # type: ignore[assignment]
    return ".".join(kept)


def _names(model: Module) -> dict[Any, str]:
    """The names of a model's parameters, of which each process has its part."""
    for module in model.modules():
        if (state := state_of(module)) is not None:
            state.group.reshard()
    return {parameter: _plain(model, name) for name, parameter in model.named_parameters()}


def _listed(optimizers: Optimizers) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


# ---- whole tensors ------------------------------------------------------------------------------------------------------------------


def _is_first() -> bool:
    return not is_initialized() or get_rank() == 0


def _gathered(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """A flat state dict as the options want it."""
    if not options.full_state_dict:
        return state
    kept: dict[str, Any] = {}
    for name, value in state.items():
        whole = value.full_tensor() if isinstance(value, DTensor) else value
        if not options.cpu_offload or _is_first():
            kept[name] = whole
    return kept


def _values(state: Mapping[str, Any], options: StateDictOptions) -> Iterator[tuple[str, Any]]:
    """The entries of a flat state dict; one after the other they come from the first process, if it has them alone."""
    if not options.broadcast_from_rank0 or not is_initialized():
        yield from state.items()
        return
    described: list[Any] = [None]
    if _is_first():
        described = [
            [(name, (value.shape, value.dtype) if isinstance(value, Tensor) else None, None if isinstance(value, Tensor) else value)
             for name, value in state.items()]
        ]  # fmt: skip
    broadcast_object_list(described, src=0)
    for name, tensor, value in described[0]:
        if tensor is not None:
            value = state[name].detach().contiguous() if _is_first() else empty(tensor[0], dtype=tensor[1])
            broadcast(value, src=0)
        yield name, value


def _divided(value: Any, like: Any) -> Any:
    """This process's part of a whole tensor, if `like` is divided."""
    if isinstance(like, DTensor) and isinstance(value, Tensor) and not isinstance(value, DTensor) and value.shape == like.shape:
        return make(part_of(value.detach(), like._spec).clone(), like._spec)
    return value


# ---- models -------------------------------------------------------------------------------------------------------------------------


def get_model_state_dict(model: Module, *, submodules: Any = None, options: StateDictOptions | None = None) -> dict[str, Any]:
    """The state dict of a model, without the names of what it is wrapped in. All processes have to call it."""
    options = _checked(options, submodules)
    skipped: set[str] = set()
    if options.ignore_frozen_params:
        skipped = {_plain(model, name) for name, parameter in model.named_parameters() if not parameter.requires_grad}
    named = {_plain(model, key): value for key, value in model.state_dict().items()}
    return _gathered({name: value for name, value in named.items() if name not in skipped}, options)


def set_model_state_dict(model: Module, model_state_dict: Mapping[str, Any], *, options: StateDictOptions | None = None) -> Any:
    """Load such a state dict."""
    options = _checked(options)
    present = model.state_dict()
    own = {_plain(model, key): key for key in present}
    loaded: dict[str, Any] = {}
    for name, value in _values(model_state_dict, options):
        key = own.get(name, name)
        loaded[key] = _divided(value, present.get(key)) if options.full_state_dict else value
    return model.load_state_dict(loaded, strict=options.strict)


# ---- optimizers ---------------------------------------------------------------------------------------------------------------------


def _begin(optimizer: Optimizer) -> None:
    """Give an optimizer the state that its first step makes, without changing a parameter, so that there is something to load into."""
    if optimizer.state or any(parameter.grad is not None for group in optimizer.param_groups for parameter in group["params"]):
        return
    rates = [group.get("lr") for group in optimizer.param_groups]
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.requires_grad:
                parameter.grad = zeros_like(parameter)
        if "lr" in group:
            group["lr"] = zeros_like(group["lr"]) if isinstance(group["lr"], Tensor) else 0.0
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if "lr" in group:
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def get_optimizer_state_dict(
    model: Module, optimizers: Optimizers, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The states of optimizers, by the names of the parameters. All processes have to call it."""
    options = _checked(options, submodules)
    names = _names(model)
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _listed(optimizers):
        _begin(optimizer)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter in optimizer.state:
                    state[names[parameter]] = optimizer.state[parameter]
            groups.append({**group, "params": [names[parameter] for parameter in group["params"]]})
    flat = {f"{name}\0{key}": value for name, entries in state.items() for key, value in entries.items()}
    flat = _gathered(flat, options)
    if options.full_state_dict and options.cpu_offload and not _is_first():
        return {}
    if options.flatten_optimizer_state_dict:
        settings = {f"param_groups.{name}.{key}": value for group in groups for name in group["params"]
                    for key, value in group.items() if key not in ("params", "param_names")}  # fmt: skip
        return {**{f"state.{key.replace(chr(0), '.')}": value for key, value in flat.items()}, **settings}
    made: dict[str, Any] = {"state": {name: {} for name in state}, "param_groups": groups}
    for key, value in flat.items():
        name, entry = key.split("\0")
        made["state"][name][entry] = value
    return made


def set_optimizer_state_dict(
    model: Module, optimizers: Optimizers, optim_state_dict: Mapping[str, Any], *, options: StateDictOptions | None = None
) -> None:
    """Load such states."""
    options = _checked(options)
    names = _names(model)
    nested = _unflattened(optim_state_dict, names.values()) if options.flatten_optimizer_state_dict else optim_state_dict
    flat, ways = flatten_state_dict(nested)
    if options.broadcast_from_rank0 and is_initialized():
        held: list[Any] = [ways]
        broadcast_object_list(held, src=0)
        ways = held[0]
    parameters = {name: parameter for parameter, name in names.items()}
    found: dict[str, Any] = {}
    for key, value in _values(flat, options):
        if options.full_state_dict and ways[key][0] == "state":
            value = _divided(value, parameters.get(str(ways[key][1])))
        found[key] = value
    saved = unflatten_state_dict(found, ways)
    for optimizer in _listed(optimizers):
        optimizer.load_state_dict(_numbered(optimizer, names, saved.get("state", {}), saved.get("param_groups", [])))


def _numbered(
    optimizer: Optimizer, names: Mapping[Any, str], saved: Mapping[str, Any], groups: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """The state of an optimizer by the numbers of its parameters, as it loads it."""
    by_name = {name: group for group in groups for name in group["params"]}
    numbered = optimizer.state_dict()
    state: dict[int, Any] = {}
    number = 0
    for group, plain in zip(optimizer.param_groups, numbered["param_groups"], strict=True):
        settings: Mapping[str, Any] = {}
        for parameter in group["params"]:
            name = names[parameter]
            if name in saved:
                state[number] = saved[name]
            settings = by_name.get(name, settings)
            number += 1
        plain.update({key: value for key, value in settings.items() if key not in ("params", "param_names")})
    return {"state": state, "param_groups": numbered["param_groups"]}


def numbered_state(model: Module, optimizer: Optimizer, saved: Mapping[str, Any]) -> dict[str, Any]:
    """The same from a state dict by names; of whole tensors this process's part."""
    names = _names(model)
    parameters = {name: parameter for parameter, name in names.items()}
    state = {
        name: {key: _divided(value, parameters.get(name)) for key, value in entries.items()} for name, entries in saved["state"].items()
    }
    return _numbered(optimizer, names, state, saved["param_groups"])


def _unflattened(flat: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """A state dict of optimizers whose entries have dotted names, with a group for each parameter."""
    made: dict[str, Any] = {"state": {}, "param_groups": []}
    for name in names:
        entries = {key.removeprefix(f"state.{name}."): value for key, value in flat.items() if key.startswith(f"state.{name}.")}
        settings = {key.removeprefix(f"param_groups.{name}."): value for key, value in flat.items()
                    if key.startswith(f"param_groups.{name}.")}  # fmt: skip
        if entries:
            made["state"][name] = entries
        if settings:
            made["param_groups"].append({**settings, "params": [name]})
    return made


# ---- both ---------------------------------------------------------------------------------------------------------------------------


def get_state_dict(
    model: Module, optimizers: Optimizers, *, submodules: Any = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state dicts of a model and of its optimizers."""
    states = get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options)
    return get_model_state_dict(model, submodules=submodules, options=options), states


def set_state_dict(
    model: Module, optimizers: Optimizers, *, model_state_dict: Mapping[str, Any], optim_state_dict: Mapping[str, Any],
    options: StateDictOptions | None = None,
) -> Any:  # fmt: skip
    """Load both."""
    result = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return result
