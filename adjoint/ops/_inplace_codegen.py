"""Generated code of in-place forms: the common cases of `mul_`, made from the declaration of `mul`.

For `mul_` the text reads, shortened:

    def mul_(input, other):
        if (mode_ := get_mode()) < 2 and input.__class__ is Tensor and input._vc is not INFERENCE_TENSOR:
            a_input = input._data
            if a_input.__class__ is ndarray and ((dtype_ := a_input.dtype) is F32 or dtype_ is F64 or dtype_ is I64):
                if other.__class__ is Tensor:
                    a_other = other._data
                    if a_other.dtype is dtype_ and apart(a_input, a_other):
                        if not mode_ or (unrecorded(input) and unrecorded(other)):
                            try: into_TT(a_input, a_other)             # a kernel, made at the first call
                            except REFUSED: pass
                            else: return input._written()              # the write is counted
                        elif adopts(input, function(twin(input), other)): return input
                elif ...                                               # a Python number
        return write_inplace(OP, {"input": input, "other": other})     # everything else: _inplace.py

A write that is recorded goes through the functional op, whose node the tensor then takes over. Where a rule asks for the value that the
write destroys, the node keeps a copy of it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from .._state import tick
from .._tensor import Tensor, wrap
from ..autograd.node import INFERENCE_TENSOR, Node
from ..autograd.saved import SavedOutput
from ..autograd.views import counter_of, edge_of, move_retained, unrecorded
from ._codegen import _NAMESPACE, indented, is_tensor, needs_same_dtype, saved_names, takes, ways
from ._compiled import forward_formula, forward_of, kinds_by_name, muted
from ._generated import function_from
from ._registry import Op

REFUSED = (ValueError, TypeError, OverflowError)  # by NumPy or by `plain_write`: the general path does it, or finds the words
INT64 = np.dtype("int64")


def generate_code(op: Op, fn: FunctionType, namespace: dict[str, Any], write_inplace: Callable[..., Any]) -> None:
    """Give the in-place form of an op its code. `namespace` holds its globals."""
    namespace |= _NAMESPACE | dict(
        OP=op, INFERENCE_TENSOR=INFERENCE_TENSOR, REFUSED=REFUSED, function=op.function, write_inplace=write_inplace, apart=apart,
        unrecorded=unrecorded, adopts=adopts, twin=twin,
    )  # fmt: skip
    for kinds in ways(op):
        namespace[f"into_{kinds}"] = first_write(op, kinds, namespace)
    name = f"{op.name}_"
    made = function_from(function_text(op, name), name, namespace)
    fn.__defaults__, fn.__kwdefaults__ = op.defaults, op.keyword_defaults
    fn.__code__ = made.__code__


# ---- what generated code calls ------------------------------------------------------------------------------------------------------


def apart(target: Any, *others: Any) -> bool:
    """Whether a loop may read the others while it writes the target: they are the target itself, or lie elsewhere."""
    return all(other is target or not np.may_share_memory(target, other) for other in others)


def twin(tensor: Tensor) -> Tensor:
    """A copy that has the same history: that of the value which is about to be written over."""
    copy = wrap(tensor._data.copy())
    copy._fn = tensor._fn
    return copy


def adopts(tensor: Tensor, made: Tensor) -> bool:
    """Let a tensor become what an op has made of it: its memory gets the values, and its history is the op's. False if it cannot."""
    node, data = made._fn, tensor._data
    if not isinstance(node, Node) or made._data.shape != data.shape or not data.flags.carray:
        return False
    np.copyto(data, made._data)
    counter = counter_of(tensor)
    counter.bump((node.code, node.offset))
    node.saved = tuple([SavedOutput(data, counter) if x.__class__ is SavedOutput else x for x in node.saved])
    node.seq = tick()  # what it keeps of the result was written just now
    if tensor._retains:
        move_retained(tensor, edge_of(tensor), node)
    tensor._fn = node
    return True


def plain_write(op: Op, kernel: Callable[..., Any] | None = None) -> Callable[..., None]:
    """Compute, by NumPy or a kernel, and copy; ValueError where the result does not fit as it is. (Truth values fit everywhere.)"""
    forward = kernel or muted(op)

    def into(target: Any, *rest: Any) -> None:
        if not target.flags.c_contiguous:
            raise ValueError("elements that may share memory")
        result = forward(target, *rest)
        if result.__class__ is Tensor or result.shape != target.shape or (result.dtype is not target.dtype and result.dtype.kind != "b"):
            raise ValueError("another shape or dtype")
        target[...] = result  # half the overhead of np.copyto

    return into


def first_write(op: Op, kinds: str, namespace: dict[str, Any]) -> Callable[..., None]:
    """What the first call finds, which compiles the kernel."""

    def into(target: Any, *rest: Any) -> None:
        write = namespace[f"into_{kinds}"] = kernel_for(op, kinds, plain_write(op))
        write(target, *rest)

    return into


def kernel_for(op: Op, kinds: str, plain: Callable[..., None]) -> Callable[..., Any]:
    """The built-in that writes into its first argument, or what serves without one."""
    from .._kernels import builtin, entry, jit, objects
    from .._kernels.expr import Untraceable

    if not jit.available() or not objects.supported() or kinds_by_name(op, kinds)[op.args[0]] != "T":
        return plain
    try:
        return builtin.load([forward_formula(op, kinds, entry.FIRST)], [plain])[0]
    except Untraceable:  # a kernel that may have to begin again, by NumPy, must not write over its arguments
        return plain_write(op, forward_of(op, kinds))


# ---- the text -----------------------------------------------------------------------------------------------------------------------


def function_text(op: Op, name: str) -> str:
    positional, target = op.args[: len(op.args) - len(op.keywords)], op.inputs[0]
    arguments = [*positional, *(["*", *op.keywords] if op.keywords else [])]
    dtypes = [*(["F32", "F64"] if op.floats else []), *(["I64"] if takes(op, INT64) else [])]
    lines = [f"def {name}({', '.join(arguments)}):"]
    if dtypes and op.args[0] == target:
        known = " or ".join(f"dtype_ is {dtype}" for dtype in dtypes)
        lines += [
            f" if (mode_ := get_mode()) < 2 and {is_tensor(target)} and {target}._vc is not INFERENCE_TENSOR:",
            f"  a_{target} = {target}._data",
            f"  dtype_ = a_{target}.dtype",
            f"  if ({known}) and a_{target}.__class__ is ndarray:",
            *indented(3, choice(op)),
        ]
    values = ", ".join(f"'{arg}': {arg}" for arg in op.args)
    return "\n".join([*lines, f" return write_inplace(OP, {{{values}}})"])


def choice(op: Op) -> list[str]:
    """What to do for each kind of the other inputs."""
    lines: list[str] = []
    for kinds in ways(op):
        given = [name for name, kind in zip(op.inputs, kinds, strict=True) if kind == "T"][1:]
        rest = op.inputs[1 + len(given) :]
        number = "({0}.__class__ is int or {0}.__class__ is float)" if op.scalars else "{0} is None"
        tests = [*map(is_tensor, given), *(number.format(name) for name in rest)]
        lines.append(f"{'elif' if lines else 'if'} {' and '.join(tests) or 'True'}:")
        lines += [f" a_{name} = {name}._data" for name in given]
        same = [f"a_{name}.__class__ is ndarray" for name in given]
        same += [f"a_{name}.dtype is dtype_" for name in given if needs_same_dtype(op, name)]
        if given:
            arrays = [f"a_{op.inputs[0]}", *(f"a_{name}" for name in given)]
            same.append(f"({'.base is '.join(arrays)}.base is None or apart({', '.join(arrays)}))")
        lines += [f" if {' and '.join(same) or 'True'}:", *indented(2, write(op, kinds, [op.inputs[0], *given]))]
    return lines


def write(op: Op, kinds: str, tensors: list[str]) -> list[str]:
    arrays = ", ".join(f"a_{name}" if name in tensors else name for name in op.args)
    constant = " and ".join(f"({name}._fn is None or unrecorded({name}))" for name in tensors)
    lines = [f"if not mode_ or ({constant}):", f" try: into_{kinds}({arrays})", " except REFUSED: pass"]
    lines += [
        " else:",
        f"  return {tensors[0]}._written()",
    ]
    if op.differentiable:
        target, cut = tensors[0], len(op.args) - len(op.keywords)
        keeps = target in saved_names(op, [name for name in op.inputs if op.differentiates(name)])
        given = [f"twin({target})" if keeps and name == target else name for name in op.args[:cut]]
        call = ", ".join([*given, *(f"{name}={name}" for name in op.keywords)])
        known = [f"(fn_ := {target}._fn) is not LEAF", "fn_.__class__ is not View"]
        known += [f"a_{name} is not a_{target}" for name in tensors[1:]]
        lines += [f"elif {' and '.join(known)} and adopts({target}, function({call})): return {target}"]
    return lines
