"""Compiled members of Tensor take the place of those in Python where a program goes on for a while, and leave it where these are needed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ._device import CPU, _defaults
from ._dtype import from_numpy_dtype
from ._layer import _levels
from ._site import OWN_FILES, USER_FILES
from ._size import Size
from ._state import _mode, tick
from ._tensor import Parameter, Tensor, replaceable
from .autograd.node import INFERENCE_TENSOR, LEAF, SAME, Cut, Node, Output, VersionCounter
from .autograd.views import ORDINARY, View

_KINDS = "float32", "float64", "int64", "bool", "int32", "float16", "complex64", "uint8", "int16", "int8", "complex128"

_replaced: dict[tuple[type, str], Any] = {}  # the members in Python
_functions: dict[str, Any] = {}  # and those functions
_settled = False


def use_compiled_members(compiling: bool = True) -> None:
    """Let them take their place; if they are not on disk, only where compiling them is asked for. It is done once, if at all."""
    global _settled
    if _settled:
        return
    made = compiled_members(compiling)
    _settled = compiling or bool(made)
    for name, member in made.items():
        if name in replaceable:
            _functions[name] = replaceable[name][name]
            replaceable[name][name] = member
        else:
            owner = owner_of(name)
            _replaced[owner, name] = vars(owner)[name]
            setattr(owner, name, member)


def withdraw() -> None:
    """Have those in Python again, from now on: what looks for `__torch_function__` gives them other code."""
    global _settled
    _settled = True
    for (owner, name), member in _replaced.items():
        setattr(owner, name, member)
    _replaced.clear()


def owner_of(name: str) -> type:
    return next(cls for cls in Tensor.__mro__ if name in vars(cls))


def member_in_python(name: str) -> Any:
    """A member, or a function that is replaced too, as it is written."""
    if name in replaceable:
        return _functions.get(name, replaceable[name][name])
    owner = owner_of(name)
    return _replaced.get((owner, name), vars(owner)[name])


def compiled_members(compiling: bool) -> dict[str, Any]:
    """By name; none where they cannot be had."""
    from ._kernels import members, several

    in_python = {name: member_in_python(name) for name in (*members.GETTERS, *members.METHODS, *replaceable)}
    devices = _defaults.get() if _defaults.get()[-1] is CPU else None  # those of a program that does not choose any
    facts = (
        True, False, 1, LEAF, Cut, Node, Output, INFERENCE_TENSOR, Size, CPU, SAME, _mode, _levels, (), _defaults, devices, tick,
        USER_FILES, OWN_FILES, sys.intern("_grad"), sys.intern("_grad_dtype"), "detach", "detach()",
    )  # fmt: skip
    dtypes = {np.dtype(kind): from_numpy_dtype(np.dtype(kind)) for kind in _KINDS}
    tensors = several.Tensors(Tensor, Parameter, View, VersionCounter, ORDINARY)
    return members.descriptors(tensors, in_python, facts, dtypes, compiling)
