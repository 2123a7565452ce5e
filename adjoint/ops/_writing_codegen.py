"""Generated code of functions that change an array where it lies: the common cases of `scatter_add_` or `cumsum_`.

For `scatter_add_` the text reads, shortened:

    def scatter_add_(input, dim, index, src):
        if (mode_ := get_mode()) < 2 and input.__class__ is Tensor and index.__class__ is Tensor and src.__class__ is Tensor:
            a_input = input._data; a_index = index._data; a_src = src._data
            if a_input.__class__ is ndarray and ... and not shares_memory(a_src, a_input) and (not mode_ or unrecorded(input) and ...):
                if kernel(a_input, dim, a_index, a_src): return input._written()     # the write is counted
                quietly(write, a_input, dim, a_index, a_src)                         # by NumPy
                return input._written()
        return otherwise(input, dim, index, src)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from .._quiet import mute, unmute
from .._tensor import Tensor
from ..autograd.node import INFERENCE_TENSOR
from ..autograd.views import unrecorded
from ._codegen import _NAMESPACE, is_tensor
from ._compiled import attach, muted
from ._generated import UNSET, OpForm, function_from, generated_when_called, left_open, numpy_names, renaming
from ._registry import Op

Write = Callable[..., None]  # takes the op's arguments and changes the first
Kernel = Callable[..., bool | None]  # the same; unless it says that it has, nothing is written


def quietly(write: Write, *args: Any) -> None:
    token = mute()
    try:
        write(*args)
    finally:
        unmute(token)


def writing_function(
    op: Op, name: str, otherwise: Callable[[], FunctionType], kernel: Callable[[], Kernel] | None, write: Write | None = None,
    one_value: bool = False, floats: bool = False, follow: bool = False,
) -> FunctionType:  # fmt: skip
    """A function with the signature of `otherwise`, which answers for what is not common. It may have more arguments than the op: they are
    None in a common case. `one_value`: elements that share memory may be written to. `floats`: all tensors are of one floating dtype.
    `follow`: the kernel becomes another as the op's kernels do."""
    namespace = _NAMESPACE | dict(
        INFERENCE_TENSOR=INFERENCE_TENSOR, quietly=quietly, shares_memory=np.may_share_memory, unrecorded=unrecorded, write=write
    )

    def generate() -> None:
        rest = namespace["otherwise"] = otherwise()
        if kernel is not None:
            namespace["kernel"] = kernel()
        made = function_from(text(op, name, rest, kernel is not None, write is not None, one_value, floats), name, namespace)
        fn.__defaults__ = (UNSET,) * len(opened(rest)) + (rest.__defaults__ or ())
        fn.__kwdefaults__ = (rest.__kwdefaults__ or {}) | dict.fromkeys(numpy_names(op.args), UNSET)
        fn.__code__ = made.__code__

    def generate_first() -> None:
        generate()
        if follow:
            op.generators.append(generate)
            if op.along and len(op.generators) == 1:
                attach(op)

    fn = generated_when_called(name, namespace, generate_first)
    fn.__wrapped__ = OpForm(op)  # type: ignore[attr-defined]
    return fn


def opened(fn: FunctionType) -> tuple[str, ...]:
    """Its arguments that Python does not ask for; see _generated.py."""
    return left_open(fn.__code__.co_varnames[: fn.__code__.co_argcount], fn.__defaults__)


def text(op: Op, name: str, otherwise: FunctionType, kernel: bool, write: bool, one_value: bool, floats: bool) -> str:
    code = otherwise.__code__
    positional = code.co_varnames[: code.co_argcount]
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    target, others = op.inputs[0], op.inputs[1:]
    arrays = ", ".join(f"a_{arg}" if arg in op.inputs else arg for arg in op.args)
    rest = [other for other in (*positional, *keywords) if other not in op.args]
    tests = ["(mode_ := get_mode()) < 2", *map(is_tensor, op.inputs), *(f"{other} is None" for other in rest)]
    known = [f"a_{each}.__class__ is ndarray" for each in op.inputs] + [f"{target}._vc is not INFERENCE_TENSOR"]
    if floats:
        known.append(f"((dtype_ := a_{target}.dtype) is F32 or dtype_ is F64)")
        known += [f"a_{other}.dtype is dtype_" for other in others]
    if op.overlap or not floats:
        known += [
            f"(a_{other}.base is a_{target}.base is None and a_{other} is not a_{target} or not shares_memory(a_{other}, a_{target}))"
            for other in others
        ]
    histories = [each for each in op.inputs if each == target or op.differentiates(each)]
    known.append(f"(not mode_ or {' and '.join(f'({each}._fn is None or unrecorded({each}))' for each in histories)})")
    call = ", ".join([*positional, *(f"{other}={other}" for other in keywords)])
    lines = [f"def {name}({parameter_list(positional, [*keywords, *numpy_names(op.args)])}):", *renaming(name, op.args, opened(otherwise))]
    lines += [f" if {' and '.join(tests)}:", *(f"  a_{each} = {each}._data" for each in op.inputs), f"  if {' and '.join(known)}:"]
    if kernel:
        lines.append(f"   if kernel({arrays}): return {target}._written()")
    if write:
        lines += [f"   if {'True' if one_value else f'0 not in a_{target}.strides'}:", f"    quietly(write, {arrays})"]
        lines += [f"    return {target}._written()"]
    return "\n".join([*lines, f" return otherwise({call})"])


def parameter_list(positional: Sequence[str], keywords: Sequence[str]) -> str:
    return ", ".join([*positional, *(["*", *keywords] if keywords else [])])


def whole_write(op: Op) -> Kernel:
    """Compute all of it and copy; False where it does not fit as it is."""
    kernels = op.kernels.get("T" * len(op.inputs))
    forward = muted(op) if kernels is None or kernels.forward is None else kernels.forward

    def into(target: Any, *rest: Any) -> bool:
        if 0 in target.strides:
            return False
        result = forward(target, *rest)
        if result.shape != target.shape or result.dtype is not target.dtype:
            return False
        target[...] = result  # half the overhead of np.copyto
        return True

    return into


def inplace_of(op: Op, write_inplace: Callable[[Op, dict[str, Any]], Tensor]) -> FunctionType:
    """`cumsum_` from `cumsum`, for an op that does not broadcast its inputs."""
    return writing_function(op, f"{op.name}_", lambda: by_name(op, write_inplace), lambda: whole_write(op), floats=True, follow=True)


def by_name(op: Op, change: Callable[[Op, dict[str, Any]], Tensor]) -> FunctionType:
    """A function with the arguments of an op; `change` gets them by name."""
    name, values = f"{op.name}_", ", ".join(f"'{arg}': {arg}" for arg in op.args)
    given = parameter_list(op.args[: len(op.args) - len(op.keywords)], op.keywords)
    made = function_from(f"def {name}({given}): return change(OP, {{{values}}})", name, {"change": change, "OP": op})
    made.__defaults__, made.__kwdefaults__ = op.defaults, op.keyword_defaults
    return made
