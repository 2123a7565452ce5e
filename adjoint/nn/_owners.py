"""The names of parameters in the models that own them, found by looking for who refers to them when an error is made."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from .._site import user_frame
from .._tensor import Parameter, Tensor
from .module import Module

DEEPEST = 64  # a module that contains itself has no name


def name_of_written(counter: Any) -> str:
    """The name of the parameter whose memory a version counter counts the writes to; empty if it is none of a model's."""
    return next((name for owner in owners_of(counter) if isinstance(owner, Parameter) and (name := name_of(owner))), "")


def name_of(parameter: Any) -> str:
    """`model.encoder.0.weight`: the variable that holds the model, and the way from there; empty for what belongs to no module."""
    parts: list[str] = []
    thing: Any = parameter
    table = "_parameters"
    while len(parts) < DEEPEST and (found := container_of(thing, table)) is not None:
        thing, name = found
        parts.append(name)
        table = "_modules"
    if not parts:
        return ""
    variable = variable_of(thing)
    return ".".join([*([variable] if variable else []), *reversed(parts)])


def container_of(thing: Any, table: str) -> tuple[Module, str] | None:
    """The module that has something in one of its tables, and its name there."""
    held: Any
    for held in gc.get_referrers(thing):
        if isinstance(held, dict):
            for module in owners_of(held):
                if isinstance(module, Module) and getattr(module, table) is held:
                    return module, next(name for name, value in held.items() if value is thing)
    return None


def owners_of(value: Any) -> Iterator[Any]:
    """The objects that have something as an attribute: they refer to it themselves, or by their `__dict__`."""
    for one in gc.get_referrers(value):
        if type(one) is not dict:
            yield one
        else:
            yield from (owner for owner in gc.get_referrers(one) if getattr(owner, "__dict__", None) is one)


def variable_of(thing: Any) -> str:
    """The name under which one of the functions that are running, or its module, knows something."""
    frame: FrameType | None = user_frame(sys._getframe(1))
    while frame is not None:
        for name, value in (*frame.f_locals.items(), *frame.f_globals.items()):
            if value is thing and name.isidentifier() and not name.startswith("_"):
                return name
        frame = frame.f_back
    return ""


def names_of(parameters: Iterable[Any]) -> dict[Any, str]:
    """The names of several parameters. Who refers to what takes long to find out, so it is asked once for each model."""
    found: dict[Any, str] = {}
    for parameter in parameters:
        if parameter in found:
            continue
        model = root_of(parameter)
        if model is None:
            found[parameter] = variable_of(parameter)
            continue
        prefix = variable_of(model)
        for inner, other in model.named_parameters():
            found[other] = f"{prefix}.{inner}" if prefix else inner
        found.setdefault(parameter, "")
    return found


def root_of(parameter: Any) -> Module | None:
    """The outermost module that a parameter belongs to."""
    root, table, thing = None, "_parameters", parameter
    for _ in range(DEEPEST):
        container = container_of(thing, table)
        if container is None:
            break
        root = thing = container[0]
        table = "_modules"
    return root


def tensors_in_sight() -> dict[str, Any]:
    """The tensors that the functions that are running, and their modules, have in variables."""
    found: dict[str, Any] = {}
    frame: FrameType | None = user_frame(sys._getframe(1))
    while frame is not None:
        for name, value in (*frame.f_locals.items(), *frame.f_globals.items()):
            if isinstance(value, Tensor):
                found.setdefault(name, value)
        frame = frame.f_back
    return found
