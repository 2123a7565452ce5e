"""Custom functions: a forward and a backward written by the user.

    class Square(ad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

`ctx` is the node itself, as in PyTorch: what is stored on it in `forward` is there in `backward` and on `y.grad_fn`.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from .._dtype import from_numpy_dtype
from .._errors import GradientError
from .._events import FUNCTION
from .._layer import Layer, levels
from .._site import here
from .._state import ANOMALY, FORWARD_AD, GRAD, get_mode, recording, swap_bits, tick
from .._tensor import Tensor, wrap, wrap_result
from .anomaly import trace
from .kept import mark_kept, note_none, warn_of_kept
from .node import INFERENCE_TENSOR, Cut, Edge, LeafAlias, Node, Output, VersionCounter, public_edge
from .packed import Packed, SavedTensor
from .saved import SavedOutput, check_input, output_tensor, pack_saved, refuse_inference
from .views import CUSTOM, SEVERAL, View, check_writable, counter_of, edge_of, set_history

Facts = tuple[tuple[int, ...], np.dtype[Any]] | None  # shape and dtype of a tensor; None for what is not one


class FunctionCtx:
    """What `forward`, `setup_context`, `backward` and `jvp` may do with their `ctx`."""

    to_save: tuple[Any, ...] = ()
    saved_for_forward: tuple[Any, ...] = ()
    dirty_tensors: tuple[Tensor, ...] = ()
    non_differentiable: tuple[Tensor, ...] = ()
    materialize_grads: bool = True
    needs_input_grad: tuple[bool, ...] = ()

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved for `jvp`, which is all that a context needs that is no node."""
        return self.saved_for_forward

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward. Writes to them before backward are detected."""
        for place, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {place} is of type {type(tensor).__name__}; "
                    "keep other values on ctx itself: ctx.size = size"
                )
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on ctx: "
                    "ctx.size = size"
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs `forward` has changed in place. They must be returned."""
        for place, tensor in enumerate(tensors):
            if not isinstance(tensor, Tensor):
                raise RuntimeError(f"mark_dirty can only accept variables, but argument {place} is of type {type(tensor).__name__}")
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no derivative."""
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise RuntimeError(f"mark_non_differentiable only accepts variable arguments, but got {type(tensor).__name__}")
        self.non_differentiable = tensors

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Not needed: shared memory is found without it."""
        warnings.warn("mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked.", FutureWarning, 2)

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients that are absent reach `backward` as zeros (the default) or as None."""
        if not isinstance(value, bool):
            raise TypeError(
                "set_materialize_grads received an invalid combination of arguments - "
                f"got ({type(value).__name__}), but expected (bool)"
            )
        self.materialize_grads = value


class BackwardCFunction(Node, FunctionCtx):
    """The node of a custom function, which is its `ctx` too."""

    __slots__ = (
        "__dict__", "dirty_tensors", "edges", "input_count", "input_facts", "input_slots", "keeps_tensors", "materialize_grads",
        "needs_input_grad", "non_differentiable", "output_facts", "outputs", "own_slot", "saved_for_forward", "to_save",
    )  # fmt: skip
    takes_undefined: ClassVar[bool] = True
    _materialize_non_diff_grads = True  # PyTorch's switch, set on ctx: whether outputs without derivative get zeros, too
    _forward_cls: ClassVar[type[Function]]

    needs_input_grad: tuple[bool, ...]
    edges: tuple[Edge, ...]  # for every argument of forward; None where it needs no gradient
    input_facts: tuple[Facts, ...]  # of every argument of forward
    output_facts: tuple[Facts, ...]  # of every output

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return tuple(public_edge(edge) for edge, facts in zip(self.edges, self.input_facts, strict=True) if facts is not None)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept (in `jvp`: `save_for_forward`), each with its history, unless it was written over since."""
        return self.saved_for_forward or tuple(self._unpack(place, entry) for place, entry in enumerate(self.saved))

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, 2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        return tuple(SavedTensor(self, place) for place, _ in enumerate(self.saved))

    def _unpack(self, place: int, entry: Any) -> Any:
        if entry is None:
            return None
        if isinstance(entry, SavedOutput | Packed):
            return output_tensor(self, entry)
        tensor, edge = entry
        if tensor._vc is not None:
            check_input(self, f"saved tensor {place}", tensor, edge)
        if edge_of(tensor) is edge:
            return tensor
        alias = wrap(tensor._data)
        alias._vc = tensor._vc
        alias._fn = LeafAlias(edge) if isinstance(edge, Tensor) else edge
        if tensor._tangent is not None:
            from .forward_ad import keep_tangent

            return keep_tangent(alias, tensor._tangent)
        return alias

    def apply(self, g: Any) -> tuple[Any, ...]:
        return tuple([None if grad is None else grad._data for grad in self.apply_recorded(g)])

    def apply_recorded(self, g: Any) -> tuple[Any, ...]:
        if recording():
            warn_of_kept(self)
        results = self._forward_cls.pull_back(self, self._gradients(g))
        return self._checked(results if isinstance(results, tuple) else (results,))

    def _gradients(self, g: Any) -> list[Any]:
        """What backward is given: Tensors, and zeros or None for what did not arrive."""
        given = [g] if self.outputs is None else g or [None] * self.outputs
        return [
            wrap(np.zeros(facts[0], from_numpy_dtype(facts[1]).numpy))
            if grad is None and self.materialize_grads and facts is not None
            else grad if grad is None or isinstance(grad, Tensor) else wrap_result(grad)
            for grad, facts in zip(given, self.output_facts, strict=True)
        ]

    def _checked(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """Gradients for the edges, refused where they cannot be right."""
        expected, name = len(self.edges), Node.name(self)  # users may have put another `name` on their ctx
        if len(results) > expected and all(extra is None for extra in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise GradientError(
                f"function {name} returned an incorrect number of gradients (expected {expected}, got {len(results)})",
                {"applied": self.site},
                f"return one gradient for each argument of {self._forward_cls.__name__}.forward, None where there is none",
            )
        grads = []
        for place, (grad, edge) in enumerate(zip(results, self.edges, strict=True)):
            if grad is not None and not isinstance(grad, Tensor):
                raise GradientError(
                    f"expected Variable or None (got {type(grad).__name__}) as gradient {place} of {name}",
                    {"applied": self.site},
                    f"return a tensor: torch.as_tensor(...) where {self._forward_cls.__name__}.backward computes with other things",
                )
            if grad is not None and self.input_facts[place] is None:
                raise GradientError(
                    f"function {name} returned a gradient different from None at position {place + 1}, but the corresponding forward "
                    "input was not a Variable",
                    {"applied": self.site},
                )
            if edge is not None:
                grads.append(None if grad is None else self._fitted(grad, place))
                if grad is None:
                    note_none(edge, name, self.site)
        return tuple(grads)

    def _fitted(self, grad: Tensor, place: int) -> Tensor:
        """A gradient with the shape and dtype of its input: summed where it was broadcast."""
        from ..ops._rules import cast, sum_to

        facts = self.input_facts[place]
        assert facts is not None
        shape, dtype = facts
        if grad._data.shape != shape:
            if not expands_to(shape, grad._data.shape):
                raise GradientError(
                    f"Function {Node.name(self)} returned an invalid gradient at index {place} - got {list(grad._data.shape)} but expected "
                    f"shape compatible with {list(shape)}",
                    {"applied": self.site},
                )
            grad = sum_to(grad, shape)
        if grad._data.dtype == dtype:
            return grad
        if grad._data.dtype.kind == "c" and dtype.kind != "c":
            raise GradientError(
                "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but got false: "
                f"{Node.name(self)} returned a complex gradient at index {place} for a real input",
                {"applied": self.site},
                "return its real part: g.real",
            )
        return cast(grad, dtype)  # type: ignore[no-any-return]


def expands_to(shape: tuple[int, ...], larger: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, larger) == larger
    except ValueError:
        return False


class FunctionMeta(type):
    """Gives every custom function the class of its nodes, named after it."""

    def __init__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any], **kwargs: Any) -> None:
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,), {"__slots__": (), "_forward_cls": cls})
        super().__init__(name, bases, members, **kwargs)


class Function(metaclass=FunctionMeta):
    """Base of custom functions: write `forward` and `backward` as static methods (`setup_context`, `jvp` where wanted), call `apply`."""

    _backward_cls: ClassVar[type[BackwardCFunction]]
    generate_vmap_rule = False
    boxed_grads_call = False  # whether `backward` gets its gradients in a list, which it may clear to free them

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on the "
            f"class itself: {type(self).__name__}.apply(x)",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = type(self).__name__
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with static "
            f"forward method.\n  fix: put @staticmethod above forward and backward, and write {name}.apply(x) instead of {name}()(x)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
        )

    @classmethod
    def user_backward(cls) -> Callable[..., Any]:
        if cls.vjp is Function.vjp:
            return cls.backward
        if cls.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of them."
            )
        return cls.vjp

    @classmethod
    def pull_back(cls, ctx: Any, grads: list[Any]) -> Any:
        """What the user's backward makes of the gradients of the outputs."""
        backward = cls.user_backward()
        return backward(ctx, grads) if cls.boxed_grads_call else backward(ctx, *grads)

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` on the arguments and record one node for all of it. Gradients are for the arguments in the order of this call."""
        separate = cls.setup_context is not Function.setup_context
        if separate:
            args, kwargs = with_defaults(cls.forward, args, kwargs)
        operands = (*args, *kwargs.values())
        level = None
        if levels() or any([isinstance(getattr(x, "_data", None), Layer) for x in operands]):
            from ..func._functions import level_of_call

            level, operands = level_of_call(cls, operands)
            if level is not None and not level.records:
                return level.function(cls, operands, tuple(kwargs))
        edges = tuple([edge_of(x) if isinstance(x, Tensor) else None for x in operands])
        ctx = new_context(cls, operands, edges)
        recorded = recording() and any(ctx.needs_input_grad)
        bits = swap_bits(GRAD | FORWARD_AD, 0)  # nothing inside is recorded, and tangents do not flow through it
        try:
            if separate:
                output = cls.forward(*args, **kwargs) if level is None else level.function(cls, operands, tuple(kwargs))
                cls.setup_context(ctx, operands, output)
            else:
                output = cls.forward(ctx, *args, **kwargs)
            results = output if isinstance(output, tuple) else (output,)
            check_dirty(ctx, results, recorded)
            outputs = tuple([own_output(ctx, operands, result, recorded) for result in results])
        finally:
            swap_bits(GRAD | FORWARD_AD, bits)
        if recorded:
            connect(ctx, operands, results, outputs)
        if get_mode() & FORWARD_AD and level is None:
            forward_mode(ctx, operands, results, outputs)
        ctx.to_save = ctx.saved_for_forward = ctx.dirty_tensors = ctx.non_differentiable = ()
        if FUNCTION:
            FUNCTION.tell(cls, args, kwargs, outputs)
        return tuple(outputs) if isinstance(output, tuple) else outputs[0]

    @classmethod
    def apply_named(cls, args: Sequence[Any], names: tuple[str, ...]) -> Any:
        """The same with the last arguments going by the given names."""
        positional = len(args) - len(names)
        return cls.apply(*args[:positional], **dict(zip(names, args[positional:], strict=True)))


class InplaceFunction(Function):
    """PyTorch's old base for functions that change their input; `ctx.mark_dirty` in any Function does the same."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """PyTorch's old base for functions of nested tuples. New functions take their tensors one by one."""


def with_defaults(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with those that were left out, so that `setup_context` sees them all."""
    code = getattr(forward, "__code__", None)
    if code is not None and not kwargs and len(args) == code.co_argcount and not code.co_kwonlyargcount:
        return args, kwargs  # nothing was left out
    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs


def new_context(cls: type[Function], operands: tuple[Any, ...], edges: tuple[Edge, ...]) -> BackwardCFunction:
    """A node that is not part of any graph yet."""
    ctx = cls._backward_cls.__new__(cls._backward_cls)
    ctx.edges = edges
    ctx.needs_input_grad = tuple([edge is not None for edge in edges])
    ctx.input_facts = tuple(map(facts_of, operands))
    ctx.output_facts = ctx.next = ctx.saved = ctx.to_save = ctx.saved_for_forward = ctx.dirty_tensors = ctx.non_differentiable = ()
    ctx.restore = ctx.hooks = ctx.outputs = None
    ctx.keeps_tensors = False  # type: ignore[misc]
    ctx.materialize_grads = True
    ctx.code, ctx.offset = here()
    ctx.seq = 0
    return ctx


def among(tensor: Any, tensors: Sequence[Any]) -> int | None:
    """The place of a tensor, by identity."""
    for place, other in enumerate(tensors):
        if other is tensor:
            return place
    return None


def check_dirty(ctx: BackwardCFunction, results: tuple[Any, ...], recorded: bool) -> None:
    for tensor in ctx.dirty_tensors:
        if among(tensor, results) is None:
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
                "inplace must all be outputs of the Function."
            )
        check_writable(tensor, recorded)
    for tensor in ctx.dirty_tensors:
        counter_of(tensor).bump(ctx.site)


def has_derivative(ctx: BackwardCFunction, result: Any) -> bool:
    """Whether a derivative can flow through an output."""
    return is_differentiable(result) and among(result, ctx.non_differentiable) is None


def is_differentiable(x: Any) -> bool:
    return isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())


def own_output(ctx: BackwardCFunction, operands: tuple[Any, ...], result: Any, recorded: bool) -> Any:
    """An output that may be given a history: an input that is returned as it is becomes a view of itself."""
    if not isinstance(result, Tensor):
        return result
    is_input = among(result, operands) is not None
    if recorded and has_derivative(ctx, result):
        if is_input and among(result, ctx.dirty_tensors) is None:
            from ..ops.memory import alias

            return alias(result)
        return result
    if is_input and (result.requires_grad or among(result, ctx.dirty_tensors) is None):
        return result.detach()
    if result.requires_grad and not isinstance(result._fn, View):
        result._fn = None
    return result


def facts_of(x: Any) -> Facts:
    return (x._data.shape, x._data.dtype) if isinstance(x, Tensor) else None


def connect(ctx: BackwardCFunction, operands: tuple[Any, ...], results: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    """Make the context a node of the graph, save what was asked for, and give the outputs their history."""
    edges = ctx.edges
    tensors = [slot for slot, facts in enumerate(ctx.input_facts) if facts is not None]
    ctx.next = tuple([edge for edge in edges if edge is not None])
    ctx.input_count = len(tensors)  # type: ignore[misc]
    ctx.input_slots = tuple([place for place, slot in enumerate(tensors) if edges[slot] is not None])  # type: ignore[misc]
    ctx.own_slot = tensors.index(among(ctx.dirty_tensors[0], operands) or 0) if ctx.dirty_tensors else 0  # type: ignore[misc]
    differentiable = [has_derivative(ctx, result) for result in results]
    ctx.output_facts = tuple([
        facts_of(output) if known or ctx._materialize_non_diff_grads else None
        for output, known in zip(outputs, differentiable, strict=True)
    ])  # fmt: skip
    ctx.outputs = len(outputs) if len(outputs) > 1 else None
    ctx.saved = tuple([saved_entry(ctx, tensor, operands, results, outputs) for tensor in ctx.to_save])
    ctx.keeps_tensors = bool(ctx.saved)  # type: ignore[misc]
    mark_kept(ctx, ctx._forward_cls)
    ctx.seq = tick()
    pack_saved(ctx)
    if get_mode() & ANOMALY:
        trace(ctx)
    for nr, (result, output) in enumerate(zip(results, outputs, strict=True)):
        if differentiable[nr]:
            edge = ctx if ctx.outputs is None else Output(ctx, nr)
            if among(result, ctx.dirty_tensors) is not None:
                output.grad = None  # that was of another value
                set_history(output, edge, ctx.site)  # type: ignore[arg-type]
            elif isinstance(output._fn, View):
                output._fn.made_by_custom_function(edge, SEVERAL if sum(differentiable) > 1 else CUSTOM)
            else:
                output._fn = edge
        elif isinstance(output, Tensor) and not isinstance(output._fn, View):
            output._fn = Cut("non-differentiable output", Node.name(ctx).removesuffix("Backward"), ctx.code, ctx.offset)


def saved_entry(
    ctx: BackwardCFunction, tensor: Any, operands: tuple[Any, ...], results: tuple[Any, ...], outputs: tuple[Any, ...]
) -> Any:
    """A saved tensor: an output without its history (which would be a cycle), anything else with the edge it has now."""
    if tensor is None:
        return None
    refuse_inference(tensor)
    nr, slot = among(tensor, results), among(tensor, operands)
    as_it_is = nr is not None and slot is not None and among(tensor, ctx.dirty_tensors) is None
    if as_it_is and ctx._forward_cls.setup_context is not Function.setup_context:
        raise RuntimeError(
            "An input that has been returned as-is as output is being saved for backward. This is not supported if you override "
            "setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) or setup ctx inside the forward "
            "function itself."
        )
    if nr is not None and (slot is None or among(tensor, ctx.dirty_tensors) is not None):
        output = outputs[nr]
        if output._vc is None or output._vc is INFERENCE_TENSOR:
            output._vc = VersionCounter()
        return SavedOutput(output._data, output._vc, nr)
    return tensor, (ctx.edges[slot] if slot is not None else edge_of(tensor))


def forward_mode(ctx: BackwardCFunction, operands: tuple[Any, ...], results: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    """Give the outputs the tangents that the user's `jvp` computes."""
    from .forward_ad import set_tangent

    tangents = [getattr(x, "_tangent", None) for x in operands]
    if all(tangent is None for tangent in tangents):
        return
    saved, ctx.saved = ctx.saved, ()  # which is for backward only
    bits = swap_bits(FORWARD_AD, 0)
    try:
        found = tangents_from(ctx._forward_cls, ctx, operands, tangents, outputs)
    finally:
        swap_bits(FORWARD_AD, bits)
        ctx.saved = saved
    for nr, (result, output, tangent) in enumerate(zip(results, outputs, found, strict=True)):
        if tangent is None:
            continue
        if not isinstance(tangent, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(tangent).__name__}) for grad output {nr}.")
        if not has_derivative(ctx, result):
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {nr}, but  the corresponding forward output is not a differentiable "
                "Tensor.You should return None at that position instead."
            )
        slot = among(result, operands)
        if slot is not None and among(result, ctx.dirty_tensors) is not None:
            if tangents[slot] is not None and tangent is not tangents[slot]:
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an "
                    "input inplace, then the jvp function must modify the corresponding gradient inplace: return t.mul_(2)"
                )
        elif (slot is not None or output._is_view()) and not tangent._is_view():
            raise RuntimeError(
                "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view: "
                "return t.view_as(t)"
            )
        if tangent.shape != output.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
                f"Tensor is of size {list(output.shape)} while the given forward gradient is of size {list(tangent.shape)}."
            )
        set_tangent(output, tangent)


def tangents_from(
    cls: type[Function], ctx: FunctionCtx, operands: tuple[Any, ...], tangents: Sequence[Any], outputs: tuple[Any, ...]
) -> tuple[Any, ...]:
    """What the user's `jvp` returns for these tangents: one for each output."""
    given = [
        x.new_zeros(x.shape) if t is None and ctx.materialize_grads and is_differentiable(x) else t
        for x, t in zip(operands, tangents, strict=True)
    ]
    found = cls.jvp(ctx, *given)
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(outputs):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got {len(found)})"
        )
    return found


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """For a backward that is not itself made of differentiable operations: differentiating it raises instead of being silently wrong."""

    @functools.wraps(fn)
    def backward(ctx: Any, *grads: Any) -> Any:
        bits = swap_bits(GRAD, 0)
        boxed = len(grads) == 1 and isinstance(grads[0], list)
        recorded = [g for g in (grads[0] if boxed else grads) if isinstance(g, Tensor) and g.requires_grad] if bits else []
        try:
            results = fn(ctx, *grads)
        finally:
            swap_bits(GRAD, bits)
        if not recorded:
            return results
        many = results if isinstance(results, tuple) else (results,)
        blocked = iter(_Once.apply(*(r for r in many if isinstance(r, Tensor)), *recorded))
        renewed = tuple(next(blocked) if isinstance(r, Tensor) else r for r in many)
        return renewed if isinstance(results, tuple) else renewed[0]

    return backward


class _Once(Function):
    """Makes its results depend on the gradients that came in, so that differentiating them reaches an error."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        return tuple(t.detach() for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
