"""Modules as functions of their parameters, in the way that came before `torch.func.functional_call`."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from .._tensor import Tensor
from ..func import functional_call, stack_module_state
from ..nn.module import Module
from ..nn.parameter import Parameter

Tensors = tuple[Tensor, ...]
NamesMap = dict[str, list[str]]  # a tensor's first name to all of its names: tied weights have several


class FunctionalModule(Module):
    """A module as a function of its parameters: `function(parameters, *inputs)`."""

    def __init__(self, stateless_model: Module, param_names: tuple[str, ...], names_map: NamesMap) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = param_names
        self.names_map = dict(names_map)

    @staticmethod
    def _create_from(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, Tensors]:
        model = copy.deepcopy(model)
        parameters, names_map = taken(model, model.named_parameters(remove_duplicate=False), disable_autograd_tracking)
        return FunctionalModule(model, tuple(names_map), names_map), parameters

    def forward(self, params: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        given = under_all_names(self.param_names, params, self.names_map)
        return functional_call(self.stateless_model, given, args, kwargs, tie_weights=False)


class FunctionalModuleWithBuffers(Module):
    """A module as a function of its parameters and buffers: `function(parameters, buffers, *inputs)`."""

    def __init__(
        self, stateless_model: Module, param_names: tuple[str, ...], buffer_names: tuple[str, ...], param_names_map: NamesMap,
        buffer_names_map: NamesMap,
    ) -> None:  # fmt: skip
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = param_names
        self.buffer_names = buffer_names
        self.all_names_map = {**param_names_map, **buffer_names_map}

    @staticmethod
    def _create_from(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
        model = copy.deepcopy(model)
        parameters, names_map = taken(model, model.named_parameters(remove_duplicate=False), disable_autograd_tracking)
        buffers, buffer_names_map = taken(model, model.named_buffers(remove_duplicate=False), disable_autograd_tracking)
        made = FunctionalModuleWithBuffers(model, tuple(names_map), tuple(buffer_names_map), names_map, buffer_names_map)
        return made, parameters, buffers

    def forward(self, params: Iterable[Tensor], buffers: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
        given = under_all_names(self.param_names, params, self.all_names_map)
        given |= under_all_names(self.buffer_names, buffers, self.all_names_map)
        return functional_call(self.stateless_model, given, args, kwargs, tie_weights=False)


def taken(model: Module, members: Iterable[tuple[str, Tensor]], disable_autograd_tracking: bool) -> tuple[Tensors, NamesMap]:
    """Take tensors out of a module, and leave tensors without elements: a function of parameters must not use the module's own."""
    tensors: dict[int, Tensor] = {}
    names: dict[int, list[str]] = {}
    for name, tensor in list(members):
        tensors[id(tensor)] = tensor
        names.setdefault(id(tensor), []).append(name)
    for key, tensor in tensors.items():
        hollow = tensor.detach().to("meta")
        if isinstance(tensor, Parameter):
            hollow = Parameter(hollow, tensor.requires_grad)
        for name in names[key]:
            owner, _, leaf = name.rpartition(".")
            setattr(model.get_submodule(owner), leaf, hollow)
        if disable_autograd_tracking:
            tensor.requires_grad_(False)
    return tuple(tensors.values()), {aliases[0]: aliases for aliases in names.values()}


def under_all_names(names: Sequence[str], tensors: Iterable[Tensor], names_map: NamesMap) -> dict[str, Tensor]:
    return {alias: tensor for name, tensor in zip(names, tensors, strict=True) for alias in names_map[name]}


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, Tensors]:
    """A module as `(function, parameters)`: `function(parameters, *inputs)`; the parameters are copies."""
    if any(True for _ in model.buffers()):
        raise RuntimeError("make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.")
    return FunctionalModule._create_from(model, disable_autograd_tracking)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """A module as `(function, parameters, buffers)`: `function(parameters, buffers, *inputs)`; parameters and buffers are copies."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """Several modules of the same kind as one function of their stacked parameters and buffers, for `vmap`."""
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    parameters, buffers = stack_module_state(models)
    function, _, _ = make_functional_with_buffers(models[0])
    return function, tuple(p.detach() for p in parameters.values()), tuple(b.detach() for b in buffers.values())
