"""In-place forms and `out=`, derived from the functional op.

Everything that can be refused is refused before the first element is written: a leaf that requires grad, an expanded view, a shape that
would have to grow, a dtype that cannot hold the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from .._dtype import can_cast, from_numpy_dtype
from .._errors import spelled
from .._layer import Layer, Pending, entered, refuse_out, settled
from .._methods import OpMethods
from .._site import here
from .._state import WATCHED, get_mode, recording
from .._tensor import Parameter, Tensor, wrap
from ..autograd.forward_ad import carries_tangent, propagate_inplace
from ..autograd.forward_ad import refuse_out as refuse_tangents
from ..autograd.node import INFERENCE_TENSOR, Node, new_node
from ..autograd.regions import check_apart
from ..autograd.views import check_writable, edge_of, set_history
from ._forward import NUMBERS, forward
from ._general import OPERANDS, array_to_write, factors_last, inputs_of, is_sparse, operand, plain_array, settled_pending, watched
from ._recording import edges_of, record
from ._registry import Op
from ._rules import cast, conjugates

PLAIN = (Tensor, Parameter)
FAST = (np.dtype("float32"), np.dtype("float64"))


def inplace_function(op: Op) -> Callable[..., Any]:
    """`mul_` from `mul`: the result is written into the first argument."""
    if op.broadcasts:
        changing = generated_inplace(op, write_inplace)
    else:
        from ._writing_codegen import inplace_of

        changing = inplace_of(op, write_inplace)
    changing.__name__ = changing.__qualname__ = f"{op.name}_"
    changing.__doc__ = f"In-place form of `{op.name}`."
    changing.asks = True  # type: ignore[attr-defined]  # see _overriding.py
    op.inplace_function = changing
    return changing


def operator_inplace(op: Op) -> Callable[..., Any]:
    """`__imul__` from `mul`: the same, but an operand that is no tensor, array or number gets its own class's operator."""

    def write_or_leave(op: Op, values: dict[str, Any]) -> Any:
        strange = [x for x in values.values() if x.__class__ not in PLAIN and not isinstance(x, OPERANDS)]
        if any(not hasattr(x, "__torch_function__") for x in strange):
            return NotImplemented
        return write_inplace(op, values)

    changing = generated_inplace(op, write_or_leave)
    changing.__name__ = changing.__qualname__ = f"{op.name}_"
    changing.__doc__ = f"In-place form of `{op.name}`."
    changing.asks = True  # type: ignore[attr-defined]  # see _overriding.py
    return changing


def generated_inplace(op: Op, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """The in-place form of an op that broadcasts its inputs. Its code is made when it is first called (_inplace_codegen.py)."""
    from ._generated import OpForm, generated_when_called

    namespace: dict[str, Any] = {}

    def generate() -> None:
        from ._inplace_codegen import generate_code

        generate_code(op, fn, namespace, otherwise)

    fn = generated_when_called(f"{op.name}_", namespace, generate)
    fn.__wrapped__ = OpForm(op)  # type: ignore[attr-defined]
    return fn


def written_over(op: Op, values: dict[str, Any]) -> bool:
    """Let the op's own function compute what is written, where nothing is recorded. False if there is more to think about, or an error to
    be raised."""
    self = values[op.inputs[0]]
    data = array_to_write(self)
    if data is None or 0 in data.strides:
        return False
    for x in values.values():
        if plain_array(x) is None and not (x is None or x.__class__ in NUMBERS or x.__class__ is str):
            return False
    cut = len(op.args) - len(op.keywords)
    try:
        result = op.function(*[values[name] for name in op.args[:cut]], **{name: values[name] for name in op.keywords})._data
    except (RuntimeError, TypeError, ValueError, IndexError):
        return False
    if result.shape != data.shape:
        return False
    if result.dtype is not data.dtype:
        if not can_cast(from_numpy_dtype(result.dtype), from_numpy_dtype(data.dtype)):
            return False
        result = cast(result, data.dtype)
    np.copyto(data, result)
    self._written()
    return True


def check_read(op: Op, target: Any, operands: Iterable[Any]) -> None:
    """Refuse operands on the memory that is to be written. (What is called `value` is one number, which is read before.)"""
    if op.overlap:
        for name, x in zip(op.inputs if not op.sequence else repeat(""), operands, strict=False):
            if isinstance(x, Tensor) and name != "value":
                check_apart(target, x._data, op.overlap)


def write_to_watch(op: Op, values: dict[str, Any], given: Sequence[Any]) -> tuple[Any, ...]:
    """What `watched` is to be asked about a write, if anybody might want to see it instead of having it done here; empty if not."""
    if not get_mode() & WATCHED and all(x.__class__ in PLAIN or not hasattr(x, "__torch_function__") for x in given):
        return ()
    from .._watching import op_name

    changing = getattr(op, "inplace_function", None) or getattr(OpMethods, f"{op_name(op)}_")
    if op.indexed:
        from .advanced_index import as_tensors

        values = {**values, "indices": as_tensors(values["indices"])}
    return op, changing, tuple(values[name] for name in op.args), given


def write_inplace(op: Op, values: dict[str, Any]) -> Tensor:
    target = values[op.inputs[0]]
    if isinstance(target, Tensor) and len(op.inputs) > 1:
        check_read(op, target._data, [None, *(values[name] for name in op.inputs[1:])])
    if written_over(op, values):
        return values[op.inputs[0]]  # type: ignore[no-any-return]
    if op.factors:
        factors_last(op, values)
    given = inputs_of(op, values)
    if (call := write_to_watch(op, values, given)) and (answer := watched(*call)) is not NotImplemented:
        return answer  # type: ignore[no-any-return]
    if is_sparse(given):
        from ..sparse._forms import write_form

        return write_form(op, values)
    operands = [operand(op, slot, value) for slot, value in enumerate(given)]
    if not isinstance(operands[0], Tensor):
        raise TypeError(f"{op.name}_(): argument 'input' (position 1) must be Tensor, not {type(operands[0]).__name__}")
    if op.adopts:
        values = in_dtype_of(operands[0], values)
    pending = operands[0] if operands[0]._data.__class__ is Pending else None
    operands = list(map(settled_pending, operands))
    level, lifted, values = entered(operands, values)
    if level is not None:
        level.check_target(op, operands, values)
        lifted[0] = level.lift(settled(operands[0]))
    operands = lifted
    self: Tensor = operands[0] if pending is None else pending
    recorded = (level is None or level.records) and recording() and op.differentiable and any(
        isinstance(x, Tensor) and x.requires_grad and op.differentiates(name)
        for x, name in zip(operands, op.inputs, strict=True)
    )
    erases = not op.differentiable and recording() and self.requires_grad
    check_writable(self, recorded or erases)
    if recorded or carries_tangent(operands):
        conjugates(op, operands)  # or it is refused, before anything is written
    result = forward(op, operands if level is None else [unwritten(self), *operands[1:]], values)
    check_fits(op, result, self)
    dual = carries_tangent(operands)
    originals = overwritten_operands(op, operands) if recorded or dual else {}
    tangents = [getattr(x, "_tangent", None) for x in operands]
    edges = edges_of(operands) if recorded else None
    write(self, result)
    if recorded:
        node = record(op, operands, values, (self,), originals, edges)
        set_history(self, node, here())
    elif erases:
        set_history(self, new_node(Erased, (edge_of(self),), (), here()), here())
    if dual:
        propagate_inplace(op, [originals.get(slot, x) for slot, x in enumerate(operands)], values, self, tangents)
    return self


def unwritten(target: Tensor) -> Tensor:
    """A target inside a transform, as the op reads it: a copy, if the levels below record the op and may keep what it reads."""
    below = target._data.value
    return wrap(target._data.copy()) if isinstance(below._data, Layer) or below.requires_grad else target


class Erased(Node):
    """A write by an op without a derivative, such as `x.eq_(y)`: nothing of the gradient reaches the old value."""

    __slots__ = ()
    input_slots = (0,)
    input_count = 1
    keeps_tensors = False

    def apply(self, g: Any) -> tuple[Any, ...]:
        return (np.zeros_like(g),)

    apply_recorded = apply


def overwritten_operands(op: Op, operands: list[Any]) -> dict[int, Tensor]:
    """Copies, by slot, of what a rule will ask for and the write changes: the old value of the target and operands on its memory."""
    from ._codegen import saved_names

    needing = [
        name for name, x in zip(op.inputs, operands, strict=True)
        if isinstance(x, Tensor) and (edge_of(x) is not None or x._tangent is not None) and op.differentiates(name)
    ]
    saved = saved_names(op, needing)
    target = operands[0]._data
    return {
        slot: wrap(x._data.copy())
        for slot, (name, x) in enumerate(zip(op.inputs, operands, strict=True))
        if name in saved and isinstance(x, Tensor) and (slot == 0 or shares_memory(x._data, target))
    }


def shares_memory(a: Any, b: Any) -> bool:
    if a.__class__ is np.ndarray and b.__class__ is np.ndarray:
        mine, other = a if a.base is None else a.base, b if b.base is None else b.base
        if mine is not other and mine.__class__ is other.__class__ is np.ndarray and mine.base is other.base is None:
            return False  # both own their memory
    return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.may_share_memory(a, b)


def check_fits(op: Op, result: Any, target: Tensor) -> None:
    shape = tuple(target._data.shape)
    if result.shape != shape:
        try:
            np.broadcast_shapes(result.shape, shape)
        except ValueError:
            raise RuntimeError(
                f"The size of tensor a ({list(shape)}) must match the size of tensor b ({list(result.shape)}) in {op.name}_"
            ) from None
        if np.broadcast_shapes(result.shape, shape) != shape:
            raise RuntimeError(
                f"output with shape {list(shape)} doesn't match the broadcast shape {list(result.shape)}\n"
                f"  fix: an in-place write cannot grow its target; use the out-of-place form, x = torch.{op.name}(x, ...)"
            )
    check_cast(result.dtype, target._data.dtype)


def check_cast(source: np.dtype[Any], target: np.dtype[Any]) -> None:
    if source != target:
        a, b = from_numpy_dtype(source), from_numpy_dtype(target)
        if not can_cast(a, b):
            raise RuntimeError(
                f"result type {a.scalar_name} can't be cast to the desired output type {b.scalar_name}\n"
                f"  fix: use the out-of-place form, or convert the target first: x = x.to({a})"
            )


def in_dtype_of(target: Tensor, values: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an op that computes in a dtype which can be asked for, to be written over `target`."""
    own, asked = target.dtype, values["dtype"]
    if asked not in (None, own):
        kinds = (C_NAMES.get(kind.name, kind.name) for kind in (own, asked))
        raise RuntimeError(
            "Bad in-place call: input tensor dtype {} and output tensor dtype {} should match\n"
            "  fix: leave dtype out, or use the out-of-place form".format(*kinds)
        )
    return {**values, "dtype": own}


C_NAMES = {
    "float32": "float", "float64": "double", "int64": "long int", "int32": "int", "int16": "short int", "int8": "signed char",
    "uint8": "unsigned char", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip


def check_same(text: str, source: np.dtype[Any], target: np.dtype[Any]) -> None:
    """Refuse to convert the result of a function that returns the dtype it is given, in PyTorch's words for it (see SAME)."""
    if source != target:
        wanted, given = from_numpy_dtype(source), from_numpy_dtype(target)
        types = {"wanted_type": C_NAMES.get(wanted.name, wanted.name), "given_type": C_NAMES.get(given.name, given.name)}
        words = text.format(wanted=wanted.scalar_name, given=given.scalar_name, **types)
        raise RuntimeError(spelled(f"{words}\n  fix: out=torch.empty(0, dtype={wanted})"))


def write(target: Tensor, result: Any) -> None:
    """Put new values into a tensor's memory and count the write."""
    data = target._data
    if data.__class__ is np.ndarray:
        np.copyto(data, result, casting="unsafe")
    elif isinstance(data, Layer):
        data.level.write(target, result)
    elif data.__class__ is Pending:
        data[...] = cast(result, data.array.dtype)
    if target._vc is not INFERENCE_TENSOR:
        target._written()


def write_out(op: Op, operands: list[Any], values: dict[str, Any], out: Any) -> Tensor:
    """`out=`: the result goes into a given tensor, which is resized if it has another shape."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{op.name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if recording() and any(isinstance(x, Tensor) and x.requires_grad for x in (*operands, out)):
        raise RuntimeError(
            spelled(
                f"{op.name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires "
                f"grad.\n  fix: result = torch.{op.name}(...) without out=, or wrap the call in torch.no_grad()"
            )
        )
    refuse_tangents(op, [*operands, out])
    refuse_out(op.name, [*operands, out])
    check_writable(out, False)
    check_read(op, out._data, operands)
    if op.adopts and values["dtype"] is None:
        values = {**values, "dtype": from_numpy_dtype(out._data.dtype)}
    result = forward(op, operands, values)
    if op.same:
        check_same(op.same, result.dtype, out._data.dtype)
    if op.sequence and not can_cast(from_numpy_dtype(result.dtype), from_numpy_dtype(out._data.dtype)):
        raise TypeError(f"torch.{op.name}(): input types can't be cast to the desired output type {out.dtype.scalar_name}")
    check_cast(result.dtype, out._data.dtype)
    resize_out(out, result.shape, 6)
    write(out, result)
    return out


def resize_out(out: Tensor, shape: tuple[int, ...], stacklevel: int = 5) -> None:
    """Give a tensor the shape of what is to be written into it. It stays where it begins in its memory. `stacklevel` says whose line a
    warning names: the caller's, for no warning is given of code that is generated."""
    if out._data.shape == shape:
        return
    if out._data.size:
        import warnings

        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(out._data.shape)}, which does not match the "
            f"required output shape {list(shape)}. Reuse it only for results of its own shape, or make it empty first: "
            "t.resize_(0).",
            stacklevel=stacklevel,
        )
    out.resize_(shape)



