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


MISSING: Any = object()  # the value of a name that is not there


@contextmanager
def _reparametrize_module(
    module: Module, parameters_and_buffers: dict[str, Tensor], *, tie_weights: bool = False, strict: bool = False
) -> Iterator[None]:
    """Put tensors in place of attributes for a block, by their dotted names; a name that is not there yet is there for the block.
    What the block assigns to these names goes into the dictionary."""
    values: dict[str, Any] = dict(parameters_and_buffers)
    if tie_weights or strict:
        own = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers(remove_duplicate=False))
        if tie_weights:
            _tie(values, own)
        if strict:
            _check_keys(module, values, own)
    before: dict[str, Any] = {}
    try:
        for key, value in values.items():
            before[key] = _swap(module, key, value)
        yield
    finally:
        after = {key: _swap(module, key, value) for key, value in before.items()}
        parameters_and_buffers.update({key: value for key, value in after.items() if key in parameters_and_buffers})


def _swap(module: Module, key: str, value: Any) -> Any:
    """Set (or, if it is MISSING, remove) the tensor at a dotted name, and return what was there."""
    path, _, name = key.rpartition(".")
    for part in path.split(".") if path else ():
        if not isinstance(getattr(module, part, None), Module):
            raise AttributeError(f"{module._get_name()} has no attribute `{part}`")
        module = getattr(module, part)
    _check_tensor(value)
    if not name:
        raise KeyError('tensor name can\'t be empty string ""')
    for table in (module._parameters, module._buffers):
        if name in table:
            before = table[name]
            if value is MISSING:
                del table[name]
            else:
                table[name] = value
            return before
    before = getattr(module, name, MISSING)
    _check_tensor(before, f"attribute `{name}`: ")
    if value is not MISSING:
        setattr(module, name, value)
    elif before is not MISSING:
        delattr(module, name)
    return before


def _check_tensor(value: Any, where: str = "") -> None:
    if value is not MISSING and value is not None and not isinstance(value, Tensor):
        raise TypeError(f"{where}{value} is not an instance of torch.Tensor")


def _tie(values: dict[str, Tensor], own: dict[str, Tensor]) -> None:
    """A tensor that the module has under several names is replaced under all of them."""
    names: dict[Tensor, list[str]] = {}
    for key, tensor in own.items():
        names.setdefault(tensor, []).append(key)
    for tied in names.values():
        chosen = {id(values[key]): values[key] for key in tied if key in values}
        if len(chosen) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(tied)}, which are tied. Consider using tie_weights=False"
            )
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
