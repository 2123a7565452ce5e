"""The general path of an op call: everything that the generated fast path leaves out.

Python numbers and NumPy arrays among the operands, mixed and uncommon dtypes (half precision, complex, small integers), inference mode,
forward mode, `out=`, subclasses, and every error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._dtype import result_numpy_dtype
from .._errors import spelled
from .._layer import Layer, Level, Pending, entered, levels, settled
from .._layout import Sparse
from .._quiet import mute, unmute
from .._site import here, warn
from .._state import (
    AUTOCAST,
    DISPATCH_MODE,
    FUNCTION_MODE,
    GRAD,
    INFERENCE,
    OBSERVE,
    PROFILE,
    SAVED_HOOKS,
    WATCHED,
    get_mode,
    swap_bits,
    tick,
)
from .._tensor import Parameter, Tensor, wrap, wrap_result
from ..autograd.forward_ad import keep_tangent
from ..autograd.node import INFERENCE_TENSOR, LeafAlias, Node, Output
from ..autograd.packed import known_result
from ..autograd.regions import ANY, same_memory
from ..autograd.saved import pack_saved
from ..autograd.views import counter_of, cut_of, edge_of
from ._forward import NUMBERS, common_dtype, forward
from ._precision import is_half
from ._recording import finish
from ._registry import KEEP, Op

PLAIN = (Tensor, Parameter)
INT64, BOOL = np.dtype("int64"), np.dtype("bool")
COMMON_DTYPES = frozenset((np.dtype("float32"), np.dtype("float64"), INT64, BOOL))
OPERANDS = (Tensor, np.ndarray, np.generic, *NUMBERS)


def general(op: Op, args: tuple[Any, ...], out: Any = None) -> Any:
    """Run an op on any arguments, given in the order of its signature."""
    if out is None:
        if op.broadcasts and op.promote != KEEP and get_mode() <= GRAD and (same := in_one_dtype(op, args)) is not None:
            return called(op, same)
        level, mode = running_level(op, args), get_mode()
        if mode == GRAD | SAVED_HOOKS:
            if level is None and not levels() and known_result.get() is None and not overridden(op, args):
                return packed(op, args)
        elif mode == INFERENCE:
            if level is None and not op.view and not levels() and known_result.get() is None and not overridden(op, args):
                return inferred(op, args)
        elif mode & AUTOCAST and mode & ~AUTOCAST <= GRAD:
            if level is None and not levels() and known_result.get() is None and not overridden(op, args):
                return autocasted(op, args)
        elif level is not None and mode < 2:
            return level.call(op, args) if level.alive else again(op, args)
    elif is_plain(op, args, out) and fits(out, made := called(op, args)):
        np.copyto(out._data, made._data)
        counter_of(out).bump(here())
        return out
    return generally(op, args, out)


def in_one_dtype(op: Op, args: tuple[Any, ...]) -> list[Any] | None:
    """The arguments with tensors converted to the dtype that the op computes in, as its fast path takes them; None if that is not all that
    stands in its way. Whole numbers and constants have no history, so nothing is recorded of it."""
    arrays: list[Any] = []
    for x in args[: len(op.inputs)]:
        if x.__class__ is Tensor or x.__class__ is Parameter:
            data = x._data
            if data.__class__ is not np.ndarray or data.dtype.kind not in "biufc" or x._vc is INFERENCE_TENSOR:
                return None
            arrays.append(data)
        elif (x.__class__ is float or x.__class__ is int) and arrays and op.scalars:
            arrays.append(x)
        elif x.__class__ is complex and arrays and arrays[0].dtype.kind == "c" and op.scalars and isinstance(op.nodes, str):
            arrays.append(x)
        else:
            return None
    dtype = common_dtype(op, arrays)
    if dtype is BOOL or (op.exact and is_half(dtype)):
        return None
    converted: list[Any] | None = None
    for place, array in enumerate(arrays):
        if array.__class__ is not np.ndarray:
            if dtype is INT64 or array.__class__ is complex:
                converted = converted or list(args)
                converted[place] = wrap(np.asarray(array, dtype if array.__class__ is complex else None))
        elif array.dtype is not dtype:
            if array.dtype.kind in "fc" and args[place]._fn is not None:
                return None
            if op.check is not None:
                op.check(*arrays)
            converted = converted or list(args)
            token = mute()  # one number is converted to the dtype of the others, for which it may be too large
            try:
                converted[place] = made = wrap(array.astype(dtype))
            finally:
                unmute(token)
            made._fn = args[place]._fn and cut_of(args[place])
            made._vc = counter_of(args[place])  # a node that keeps it refuses to go on when the original has been changed
    return converted


def running_level(op: Op, args: tuple[Any, ...]) -> Level | None:
    """The level of an op on Tensors inside a transform, where nothing else is special about them; or one that has ended, if any has."""
    top: Level | None = None
    if op.indexed:
        return None
    for x in args[0] if op.sequence and args[0].__class__ in (list, tuple) else args:
        if x.__class__ in PLAIN and isinstance(x._data, Layer):
            level = x._data.level
            if not level.alive:
                return level
            if top is None or level.depth > top.depth:
                top = level
    return top


def is_sparse(operands: Iterable[Any]) -> bool:
    """Whether one of them is a Tensor of a sparse layout."""
    for x in operands:
        if isinstance(x, Tensor) and isinstance(x._data, Sparse):
            return True
    return False


def again(op: Op, args: tuple[Any, ...]) -> Any:
    """The same call without the layers of transforms that have ended: `vjp` leaves them in its graph."""
    if op.sequence:
        return called(op, [[settled(x) for x in args[0]], *args[1:]])
    return called(op, [settled(x) if x.__class__ in PLAIN else x for x in args])


def packed(op: Op, args: tuple[Any, ...]) -> Any:
    """The op as ever; then what its node has saved goes to the hooks in force."""
    begin, bits = tick(), swap_bits(SAVED_HOOKS, 0)
    try:
        result = called(op, args)
    finally:
        swap_bits(SAVED_HOOKS, bits)
    first = next(iter(result), None) if op.several else result
    edge = None if first is None else edge_of(first)
    node = edge.node if isinstance(edge, Output) else edge
    if isinstance(node, Node) and node.seq > begin:
        pack_saved(node)
    return result


def inferred(op: Op, args: tuple[Any, ...]) -> Any:
    """The op as ever, without recording; then its results are made inference tensors."""
    bits = swap_bits(INFERENCE, 0)
    try:
        result = called(op, args)
    finally:
        swap_bits(INFERENCE, bits)
    for tensor in result if op.several else (result,):
        if tensor.__class__ is Tensor:
            tensor._vc = INFERENCE_TENSOR
    return result


def autocasted(op: Op, args: tuple[Any, ...]) -> Any:
    """The op as ever, on operands with the dtypes that autocast wants."""
    from ._autocast import autocast

    operands = autocast(op, args)
    bits = swap_bits(AUTOCAST, 0)
    try:
        return called(op, operands)
    finally:
        swap_bits(AUTOCAST, bits)


def overridden(op: Op, args: tuple[Any, ...]) -> bool:
    """Whether an operand may want to answer for itself, or is sparse: then a form of the op is called, which is written with others."""
    operands = args[0] if op.sequence and args[0].__class__ in (list, tuple) else args
    return is_sparse(operands) or any(x.__class__ not in PLAIN and hasattr(x, "__torch_function__") for x in operands)


def called(op: Op, args: Sequence[Any]) -> Any:
    """The function of an op, with arguments in the order of its signature."""
    if not op.keywords:
        return op.function(*args)
    cut = len(op.args) - len(op.keywords)
    return op.function(*args[:cut], **dict(zip(op.keywords, args[cut:], strict=True)))


def plain_array(tensor: Any) -> Any:
    """The array of an ordinary tensor whose history does not matter, since it has none or nothing is recorded; None if there is more to
    think about."""
    mode = get_mode()
    if mode > GRAD or (tensor.__class__ is not Tensor and tensor.__class__ is not Parameter):
        return None
    data = tensor._data
    if data.__class__ is not np.ndarray or (mode and tensor._fn is not None and tensor.requires_grad):
        return None
    return data


def array_to_write(tensor: Any) -> Any:
    """The same of a tensor that may be written to. (Its elements may share memory.)"""
    data = plain_array(tensor)
    return None if data is None or tensor._vc is INFERENCE_TENSOR else data


def is_plain(op: Op, args: tuple[Any, ...], out: Any) -> bool:
    """Whether a call with `out=` is about such tensors, and numbers, and does not read the memory that it writes."""
    mode = get_mode()
    if mode > GRAD or out.__class__ not in PLAIN or out._vc is INFERENCE_TENSOR:
        return False
    if op.sequence:
        if args[0].__class__ is not list and args[0].__class__ is not tuple:
            return False
        args = (*args[0], *args[1:])
    memory = out._data
    if op.overlap is ANY and any(x is out for x in args):
        return False
    for x in (out, *args):
        if x.__class__ is Tensor or x.__class__ is Parameter:
            if x._data.__class__ is not np.ndarray or (mode and x._fn is not None and x.requires_grad):
                return False
            if x is not out and same_memory(x._data, memory):
                return False
        elif x is not None and x.__class__ not in NUMBERS:
            return False
    return True


def fits(out: Tensor, made: Tensor) -> bool:
    """Whether a result can be copied into a tensor as it is."""
    return made._data.shape == out._data.shape and made._data.dtype is out._data.dtype and bool(out._data.flags.c_contiguous)


def generally(op: Op, args: tuple[Any, ...], out: Any = None) -> Any:
    """The same for Tensors outside of transforms, and for everything uncommon."""
    values = dict(zip(op.args, args, strict=True))
    if op.factors:
        args = tuple(factors_last(op, values))
    operands = inputs_of(op, values)
    if get_mode() & WATCHED or any(x.__class__ not in PLAIN and hasattr(x, "__torch_function__") for x in (*operands, out)):
        answer = watched(op, op.function, args, operands, out)
        if answer is not NotImplemented:
            return answer
    if not op.sparse and is_sparse((*operands, out)):
        from ..sparse._forms import call_form

        return call_form(op, args, out)
    operands = [operand(op, slot, value, operands) for slot, value in enumerate(operands)]
    operands = with_a_tensor(op, operands)
    if get_mode() & AUTOCAST:
        from ._autocast import autocast

        operands = list(autocast(op, operands))
    if not op.view:
        operands = list(map(settled_pending, operands))
    _, operands, values = entered(operands, values)
    if out is not None:
        from ._inplace import write_out

        return write_out(op, operands, values, out)
    results = forward(op, operands, values)
    notice_dtype(op, operands)
    return finished(op, operands, values, results)


def settled_pending(x: Any) -> Any:
    """An operand with the elements that it stands for, if they are pending; its history is the same."""
    if not isinstance(x, Tensor) or x._data.__class__ is not Pending:
        return x
    made = wrap(x._data.resolved())
    made._vc = counter_of(x)
    if not get_mode() & GRAD:
        made._fn = cut_of(x)
    elif (edge := edge_of(x)) is not None:
        made._fn = LeafAlias(edge) if isinstance(edge, Tensor) else edge
    return made if x._tangent is None else keep_tangent(made, x._tangent)


def factors_last(op: Op, values: dict[str, Any]) -> Iterable[Any]:
    """Bring arguments into their order. PyTorch once took the factors before the tensors, and still does: `x.addcdiv_(value, a, b)`."""
    if any(isinstance(values[name], Tensor) for name in op.factors):
        tensors = [value for value in values.values() if isinstance(value, Tensor)]
        if len(tensors) == len(op.inputs):
            warn_of_order(op.name, op.factors)
            numbers = [value for value in values.values() if not isinstance(value, Tensor)]
            values.update(zip((*op.inputs, *op.factors), (*tensors, *numbers), strict=True))
        else:
            values.update({name: as_factor(op.name, name, values[name]) for name in op.factors})
    return values.values()


def warn_of_order(name: str, factors: Sequence[str]) -> None:
    warn(f"This overload of {name} is deprecated:\n\tthe factors stand before the tensors. Write {', '.join(f'{x}=...' for x in factors)}")


def as_factor(name: str, factor: str, value: Any) -> Any:
    """A number that may be given as a tensor without dimensions."""
    if not isinstance(value, Tensor):
        return value
    if value.ndim or value.requires_grad:
        raise TypeError(f"{name}(): argument '{factor}' must be Number, not Tensor")
    return value.item()


def notice_dtype(op: Op, operands: list[Any]) -> None:
    """Get a fast path for the dtype of the first operand, if it has none because it is rarely used."""
    if operands and operands[0].__class__ is Tensor:
        array = operands[0]._data
        if array.__class__ is np.ndarray and array.dtype not in COMMON_DTYPES and array.dtype not in op.served:
            op.served.add(array.dtype)
            op.regenerate()


def finished(op: Op, operands: list[Any], values: dict[str, Any], results: Any) -> Any:
    """The results of a forward as tensors with their history."""
    tensors = tuple(map(wrap_result, results)) if op.several else (wrap_result(results),)
    finish(op, operands, values, tensors)
    return tensors if op.several else tensors[0]


def operator_call(op: Op, args: tuple[Any, ...]) -> Any:
    """The same for a Python operator: an operand that is no tensor, array or number gets its own class's operator."""
    if isinstance(args[0], NUMBERS):
        raise TypeError(f"descriptor of '{op.name}' for 'torch.Tensor' objects doesn't apply to a '{type(args[0]).__name__}' object")
    for x in args[: len(op.inputs)]:
        if x.__class__ not in PLAIN and not isinstance(x, OPERANDS) and not hasattr(x, "__torch_function__"):
            break
    else:
        try:
            return general(op, args)
        except TypeError as error:
            from .._overriding import NotAnsweredError

            if not isinstance(error, NotAnsweredError):
                raise
    return NotImplemented


def watched(op: Op, func: Any, args: tuple[Any, ...], operands: Sequence[Any], out: Any = None) -> Any:
    """The answer of whoever wants to see an op instead of having it run here: an operand, a mode, the profiler. NotImplemented if there is
    none."""
    answer: Any = NotImplemented
    if get_mode() & FUNCTION_MODE or any(x.__class__ not in PLAIN and hasattr(x, "__torch_function__") for x in (*operands, out)):
        from .._overriding import ask_for_op

        answer = ask_for_op(op, func, args, operands, out)
        if answer is NotImplemented and any(hasattr(x, "__torch_dispatch__") for x in operands):
            from .._class_dispatch import run_op

            answer = run_op(op, func, args, operands)
    if answer is NotImplemented and get_mode() & (DISPATCH_MODE | PROFILE | OBSERVE):
        from .._watching import run_watched

        return run_watched(op, func, args, out)
    return answer


def inputs_of(op: Op, values: dict[str, Any]) -> list[Any]:
    if op.sequence:
        given = values[op.inputs[0]]
        if given.__class__ is list or given.__class__ is tuple:
            return list(given)
        if isinstance(given, Tensor) or not isinstance(given, Sequence):
            if not hasattr(given, "__iter__") or isinstance(given, Tensor):
                raise TypeError(
                    f"{op.name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(given).__name__}"
                )
        return list(given)
    return [values[name] for name in op.inputs]


def operand(op: Op, slot: int, value: Any, values: Sequence[Any] = ()) -> Any:
    """An argument as the op takes it: a Tensor, a Python number, or None where that is allowed."""
    if isinstance(value, Tensor):
        return value
    name = op.inputs[0 if op.sequence else slot]
    if value is None and name in op.optional:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, NUMBERS):
        if op.scalars and op.scalars in (True, "all", name):
            return value
        if op.scalars:
            raise wrong_combination(op, values)
    elif isinstance(value, np.ndarray):
        return wrap(value)
    if op.sequence:
        raise TypeError(f"expected Tensor as element {slot} in argument 0, but got {type(value).__name__}")
    raise TypeError(
        spelled(
            f"{op.name}(): argument '{name}' (position {op.args.index(name) + 1}) must be Tensor, not {type(value).__name__}"
            + tensor_instead(op, value)
        )
    )


def tensor_instead(op: Op, value: Any) -> str:
    """What to give to an op in the place of something that is no tensor."""
    if isinstance(value, tuple) and any(isinstance(one, Tensor) for one in value):
        return "\n  fix: take the first of these: output, state = layer(x) for a recurrent layer, and give output on"
    return f"\n  fix: torch.{op.name}(torch.tensor(...))" if isinstance(value, list | tuple | float | int) else ""


def with_a_tensor(op: Op, operands: list[Any]) -> list[Any]:
    """Numbers may stand for some of the tensors; only the basic operations take nothing but numbers, of which one becomes a tensor."""
    if not op.scalars or any(isinstance(x, Tensor) for x in operands):
        return operands
    first = operands[0]
    if op.scalars == "all":
        return [wrap(np.asarray(first, result_numpy_dtype([first]))), *operands[1:]]
    if len(operands) == 1:
        raise TypeError(f"{op.name}(): argument 'input' (position 1) must be Tensor, not {type(first).__name__}")
    raise wrong_combination(op, operands)


def wrong_combination(op: Op, values: Sequence[Any]) -> TypeError:
    given = ", ".join("Tensor" if isinstance(x, Tensor) else type(x).__name__ for x in values)
    rest = ", ".join(f"Number or Tensor {name}" for name in op.inputs[1:])
    return TypeError(
        spelled(
            f"{op.name}() received an invalid combination of arguments - got ({given}), but expected ({op.inputs[0]} a Tensor, {rest})\n"
            f"  fix: torch.{op.name}(torch.tensor(...), ...)"
        )
    )
