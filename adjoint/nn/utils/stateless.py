"""A module as a function of its parameters and buffers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..._site import warn
from ..._tensor import Tensor
from ..module import Module


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The old name of `torch.func.functional_call`."""
    warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. "
        "Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in place of some of its parameters and buffers."""
    given = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*given, **kwargs or {})


@contextmanager
def _reparametrize_module(
    module: Module, parameters_and_buffers: dict[str, Tensor], *, tie_weights: bool = False, strict: bool = False
) -> Iterator[None]:
    """Put tensors in place of parameters and buffers for a block. What the block assigns to their names goes into the dictionary."""
    own = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers(remove_duplicate=False))
    values = dict(parameters_and_buffers)
    if tie_weights:
        _tie(values, own)
    if strict:
        _check_keys(module, values, own)
    for value in values.values():
        if not isinstance(value, Tensor):
            raise TypeError(f"{value} is not an instance of torch.Tensor")
    for key in values.keys() - own.keys():
        _check_path(module, key)
    places = {key: _place(module, key) for key in values if key in own}
    before = {key: table[name] for key, (table, name) in places.items()}
    try:
        for key, (table, name) in places.items():
            table[name] = values[key]
        yield
    finally:
        for key, (table, name) in places.items():
            if key in parameters_and_buffers:
                parameters_and_buffers[key] = table[name]
            table[name] = before[key]


def _tie(values: dict[str, Tensor], own: dict[str, Tensor]) -> None:
    """A tensor that the module has under several names is replaced under all of them."""
    names: dict[Tensor, list[str]] = {}
    for key, tensor in own.items():
        names.setdefault(tensor, []).append(key)
    for tied in names.values():
        chosen = {id(values[key]): values[key] for key in tied if key in values}
        if len(chosen) > 1:
            raise ValueError(f"functional_call got multiple values for keys {sorted(tied)}, which are tied. Consider tie_weights=False")
        for value in chosen.values():
            values.update(dict.fromkeys(tied, value))


def _check_keys(module: Module, values: dict[str, Tensor], own: dict[str, Tensor]) -> None:
    problems = [
        f"\n\t{what} key(s): {', '.join(map(repr, sorted(keys)))}."
        for what, keys in (("Unexpected", values.keys() - own.keys()), ("Missing", own.keys() - values.keys()))
        if keys
    ]
    if problems:
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:{''.join(problems)}")


def _check_path(module: Module, key: str) -> None:
    """Refuse a name that leads through a module that is not there."""
    for name in key.split(".")[:-1]:
        if name not in module._modules:
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        module = module._modules[name]  # type: ignore[assignment]


def _place(module: Module, key: str) -> tuple[dict[str, Any], str]:
    """The table that holds a tensor, and its name there."""
    path, _, name = key.rpartition(".")
    owner = module.get_submodule(path)
    return (owner._parameters if name in owner._parameters else owner._buffers), name
