"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._tensor import Tensor
from ..ops._registry import FUNCTIONS

if TYPE_CHECKING:
    from ..nn.module import Module


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers than its own, given by name.

    >>> import adjoint as ad
    >>> layer = ad.nn.Linear(2, 1, bias=False)
    >>> ad.func.functional_call(layer, {"weight": ad.ones(1, 2)}, (ad.tensor([1.0, 2.0]),))
    tensor([3.])
    """
    from ..nn.utils.stateless import _functional_call

    given = parameter_and_buffer_dicts
    if isinstance(given, Mapping):
        merged: Any = given
    elif isinstance(given, Sequence):
        if not all(isinstance(part, Mapping) for part in given):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [name for part in given for name in part]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        merged = {name: value for part in given for name, value in part.items()}
    else:
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(parameter_and_buffer_dicts)}"
        )
    return _functional_call(module, merged, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of several modules of the same kind, stacked: what `vmap` over `functional_call` takes.

    >>> import adjoint as ad
    >>> parameters, buffers = ad.func.stack_module_state([ad.nn.Linear(3, 2) for _ in range(5)])
    >>> parameters["weight"].shape
    torch.Size([5, 2, 3])
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) != 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) != 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return stacked_by_name(parameters), stacked_by_name(buffers)


def stacked_by_name(states: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: stacked(name, [state[name] for state in states]) for name in states[0]}


def stacked(name: str, tensors: Sequence[Tensor]) -> Tensor:
    """A new leaf that holds them all, if all of them are leaves."""
    if not all(tensor.is_leaf for tensor in tensors):
        return FUNCTIONS["stack"](tensors)  # type: ignore[no-any-return]
    if len({tensor.requires_grad for tensor in tensors}) != 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    result: Tensor = FUNCTIONS["stack"]([tensor.detach() for tensor in tensors])
    return result._set_requires_grad(tensors[0].requires_grad)


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """`func` itself: writes in place need no removal here."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            '     remove="mutations": all inplace and out= operators will be removed from the program, and replaced with their '
            'out-of-place equivalents.\n     remove="mutations_and_views": In addition to the above, all aliasing operators {view} will be '
            "replaced with their non-aliasing counterparts, {view}_copy.\n"
        )
    return func
