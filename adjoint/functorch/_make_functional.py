"""Modules as functions of their parameters, in the way that came before `torch.func.functional_call`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._tensor import Tensor
from ..func import functional_call, stack_module_state

if TYPE_CHECKING:
    from ..nn.module import Module

Functional = Callable[..., Any]
Tensors = tuple[Tensor, ...]


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[Functional, Tensors]:
    """A module as `(function, parameters)`: `function(parameters, *inputs)`."""
    function, parameters, buffers = make_functional_with_buffers(model, disable_autograd_tracking)
    if buffers:
        raise RuntimeError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.")
    return (lambda values, *args, **kwargs: function(values, (), *args, **kwargs)), parameters


def make_functional_with_buffers(model: Module, disable_autograd_tracking: bool = False) -> tuple[Functional, Tensors, Tensors]:
    """A module as `(function, parameters, buffers)`: `function(parameters, buffers, *inputs)`."""
    body = copy.deepcopy(model)
    names, buffer_names = [name for name, _ in model.named_parameters()], [name for name, _ in model.named_buffers()]
    parameters = tuple(p.detach() if disable_autograd_tracking else p for _, p in model.named_parameters())

    def function(values: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        given = dict(zip(names, values, strict=True)) | dict(zip(buffer_names, buffers, strict=True))
        return functional_call(body, given, args, kwargs)

    return function, parameters, tuple(b for _, b in model.named_buffers())


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[Functional, Tensors, Tensors]:
    """Several modules of the same kind as one function of their stacked parameters and buffers, for `vmap`."""
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    parameters, buffers = stack_module_state(models)
    function, _, _ = make_functional_with_buffers(models[0])
    return function, tuple(parameters.values()), tuple(buffers.values())
