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

`ctx` is an object of its own, so that any attribute can be stored on it; `y.grad_fn` shows them too, as in PyTorch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from .._errors import GradientError
from .._site import here
from .._state import FORWARD_AD, GRAD, get_mode, recording, swap_bits
from .._tensor import Tensor, wrap, wrap_result
from .node import INFERENCE_TENSOR, LEAF, Edge, Node, Output, VersionCounter, new_node, public_edge
from .saved import SavedOutput, check_input, output_tensor
from .views import check_writable, counter_of, edge_of, set_history

Facts = tuple[tuple[int, ...], np.dtype[Any]] | None  # shape and dtype of a tensor; None for what is not one


class FunctionCtx:
    """What `forward`, `setup_context`, `backward` and `jvp` are given as `ctx`."""

    _node: FunctionNode | None = None  # set while backward runs; always set, it would be a cycle
    _to_save: tuple[Any, ...] = ()
    _for_forward: tuple[Any, ...] = ()
    _dirty: tuple[Tensor, ...] = ()
    _non_differentiable: tuple[Tensor, ...] = ()
    _materialize = True
    needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward. Writes to them before backward are detected."""
        for place, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {place} is of type {type(tensor).__name__}; "
                    "keep other values on ctx itself: ctx.size = size"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`."""
        self._for_forward = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept, each with its history, unless it was written over since."""
        return self._for_forward or self._to_save if self._node is None else self._node.saved_tensors

    saved_variables = saved_tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs `forward` has changed in place. They must be returned."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no derivative."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients that are absent reach `backward` as zeros (the default) or as None."""
        self._materialize = value


class FunctionNode(Node):
    """The node of a custom function."""

    __slots__ = ("ctx", "edges", "input_facts", "input_slots", "output_facts", "outputs", "own_slot")
    takes_undefined: ClassVar[bool] = True
    function: ClassVar[type[Function]]

    ctx: FunctionCtx
    edges: tuple[Edge, ...]  # for every argument of forward; None where it needs no gradient
    input_facts: tuple[Facts, ...]  # of every argument of forward
    output_facts: tuple[Facts, ...]  # of every output

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return tuple(public_edge(edge) for edge, facts in zip(self.edges, self.input_facts, strict=True) if facts is not None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ctx, name)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        return tuple(self._unpack(place, entry) for place, entry in enumerate(self.saved))

    def _unpack(self, place: int, entry: Any) -> Any:
        if entry is None:
            return None
        if isinstance(entry, SavedOutput):
            return output_tensor(self, entry)
        tensor, edge = entry
        if tensor._vc is not None:
            check_input(self, f"saved tensor {place}", tensor, edge)
        if edge_of(tensor) is edge:
            return tensor
        alias = wrap(tensor._data)
        alias._vc = tensor._vc
        alias._fn = LEAF if isinstance(edge, Tensor) else edge
        if tensor._tangent is not None:
            from .forward_ad import keep_tangent

            return keep_tangent(alias, tensor._tangent)
        return alias

    def apply(self, g: Any) -> tuple[Any, ...]:
        return tuple(None if grad is None else grad._data for grad in self.apply_recorded(g))

    def apply_recorded(self, g: Any) -> tuple[Any, ...]:
        tuple(self.saved)  # raises if an earlier backward has freed them
        function = self.function
        self.ctx._node = self
        try:
            results = function.user_backward()(self.ctx, *self._gradients(g))
        finally:
            self.ctx._node = None
        return self._checked(results if isinstance(results, tuple) else (results,))

    def _gradients(self, g: Any) -> list[Any]:
        """What backward is given: Tensors, and zeros or None for what did not arrive."""
        given = [g] if self.outputs is None else g or [None] * self.outputs
        return [
            wrap(np.zeros(*facts))
            if grad is None and self.ctx._materialize and facts is not None
            else grad if grad is None or isinstance(grad, Tensor) else wrap_result(grad)
            for grad, facts in zip(given, self.output_facts, strict=True)
        ]

    def _checked(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """Gradients for the edges, refused where they cannot be right."""
        expected, name = len(self.edges), self.name()
        if len(results) > expected and all(extra is None for extra in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise GradientError(
                f"function {name} returned an incorrect number of gradients (expected {expected}, got {len(results)})",
                {"applied": self.site},
                f"return one gradient for each argument of {self.function.__name__}.forward, None where there is none",
            )
        grads = []
        for place, (grad, edge) in enumerate(zip(results, self.edges, strict=True)):
            if grad is not None and not isinstance(grad, Tensor):
                raise GradientError(
                    f"expected Variable or None (got {type(grad).__name__}) as gradient {place} of {name}",
                    {"applied": self.site},
                    f"return a tensor: torch.as_tensor(...) where {self.function.__name__}.backward computes with other things",
                )
            if grad is not None and self.input_facts[place] is None:
                raise GradientError(
                    f"function {name} returned a gradient different from None at position {place + 1}, but the corresponding forward "
                    "input was not a Variable",
                    {"applied": self.site},
                )
            if edge is not None:
                grads.append(None if grad is None else self._fitted(grad, place))
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
                    f"Function {self.name()} returned an invalid gradient at index {place} - got {list(grad._data.shape)} but expected "
                    f"shape compatible with {list(shape)}",
                    {"applied": self.site},
                )
            grad = sum_to(grad, shape)
        return grad if grad._data.dtype == dtype else cast(grad, dtype)


def expands_to(shape: tuple[int, ...], larger: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, larger) == larger
    except ValueError:
        return False


class Function:
    """Base of custom functions: write `forward` and `backward` as static methods (`setup_context`, `jvp` where wanted), call `apply`."""

    _node_class: ClassVar[type[FunctionNode]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with static "
            f"forward method.\n  fix: put @staticmethod above forward and backward, and write {name}.apply(x) instead of {name}()(x)"
        )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._node_class = type(f"{cls.__name__}Backward", (FunctionNode,), {"__slots__": (), "function": cls})

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
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` on the arguments and record one node for all of it. Gradients are for the arguments in the order of this call."""
        ctx = FunctionCtx()
        args = (*args, *kwargs.values())
        edges = [edge_of(x) if isinstance(x, Tensor) else None for x in args]
        ctx.needs_input_grad = tuple(edge is not None for edge in edges)
        recorded = recording() and any(ctx.needs_input_grad)
        output = run_forward(cls, ctx, args, tuple(kwargs))
        results = output if isinstance(output, tuple) else (output,)
        check_dirty(ctx, results, recorded)
        site = here()
        for tensor in ctx._dirty:
            counter_of(tensor).bump(site)
        outputs = tuple(own_output(ctx, args, result) for result in results)
        if recorded:
            connect(cls, ctx, args, edges, results, outputs)
        if get_mode() & FORWARD_AD:
            forward_mode(cls, ctx, args, outputs)
        ctx._to_save = ctx._for_forward = ctx._dirty = ctx._non_differentiable = ()
        return outputs if isinstance(output, tuple) else outputs[0]


def run_forward(cls: type[Function], ctx: FunctionCtx, args: tuple[Any, ...], names: tuple[str, ...]) -> Any:
    """The user's forward: nothing inside is recorded, and tangents do not flow through it. The last arguments go by the given names."""
    positional = args[: len(args) - len(names)]
    named = dict(zip(names, args[len(positional) :], strict=True))
    bits = swap_bits(GRAD | FORWARD_AD, 0)
    try:
        if cls.setup_context is Function.setup_context:
            return cls.forward(ctx, *positional, **named)
        output = cls.forward(*positional, **named)
        cls.setup_context(ctx, args, output)
        return output
    finally:
        swap_bits(GRAD | FORWARD_AD, bits)


def among(tensor: Any, tensors: Sequence[Any]) -> int | None:
    """The place of a tensor, by identity."""
    return next((place for place, other in enumerate(tensors) if other is tensor), None)


def check_dirty(ctx: FunctionCtx, results: tuple[Any, ...], recorded: bool) -> None:
    for tensor in ctx._dirty:
        if among(tensor, results) is None:
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
                "inplace must all be outputs of the Function."
            )
        check_writable(tensor, recorded)


def own_output(ctx: FunctionCtx, args: tuple[Any, ...], result: Any) -> Any:
    """An output that is one of the inputs, and was not changed in place, becomes a new tensor on the same memory."""
    if not isinstance(result, Tensor) or among(result, args) is None or among(result, ctx._dirty) is not None:
        return result
    alias = wrap(result._data)
    alias._vc = counter_of(result)
    return alias


def facts_of(x: Any) -> Facts:
    return (x._data.shape, x._data.dtype) if isinstance(x, Tensor) else None


def connect(
    cls: type[Function], ctx: FunctionCtx, args: tuple[Any, ...], edges: list[Edge], results: tuple[Any, ...], outputs: tuple[Any, ...]
) -> None:
    """Make the node, save what was asked for, and give the outputs their history."""
    node = new_node(cls._node_class, tuple(edge for edge in edges if edge is not None), (), here())
    assert isinstance(node, FunctionNode)
    node.ctx = ctx
    node.edges = tuple(edges)
    node.input_slots = tuple(slot for slot, edge in enumerate(edges) if edge is not None)  # type: ignore[misc]
    node.input_facts = tuple(map(facts_of, args))
    node.output_facts = tuple(map(facts_of, outputs))
    node.outputs = len(outputs) if len(outputs) > 1 else None
    node.own_slot = (among(ctx._dirty[0], args) or 0) if ctx._dirty else 0  # type: ignore[misc]
    node.saved = tuple(saved_entry(ctx, tensor, args, edges, results, outputs) for tensor in ctx._to_save)
    for nr, (result, output) in enumerate(zip(results, outputs, strict=True)):
        if not isinstance(output, Tensor) or among(result, ctx._non_differentiable) is not None:
            continue
        if not (output.is_floating_point() or output.is_complex()):
            continue
        edge = node if node.outputs is None else Output(node, nr)
        if among(result, ctx._dirty) is not None:
            set_history(output, edge, node.site)  # type: ignore[arg-type]
        else:
            output._fn = edge


def saved_entry(
    ctx: FunctionCtx, tensor: Any, args: tuple[Any, ...], edges: list[Edge], results: tuple[Any, ...], outputs: tuple[Any, ...]
) -> Any:
    """A saved tensor: an output without its history (which would be a cycle), anything else with the edge it has now."""
    if tensor is None:
        return None
    nr, slot = among(tensor, results), among(tensor, args)
    if nr is not None and (slot is None or among(tensor, ctx._dirty) is not None):
        output = outputs[nr]
        if output._vc is None or output._vc is INFERENCE_TENSOR:
            output._vc = VersionCounter()
        return SavedOutput(output._data, output._vc, nr)
    return tensor, (edges[slot] if slot is not None else edge_of(tensor))


def forward_mode(cls: type[Function], ctx: FunctionCtx, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
    from .forward_ad import set_tangent

    tangents = [getattr(x, "_tangent", None) for x in args]
    if all(tangent is None for tangent in tangents):
        return
    if ctx._materialize:
        tangents = [x.new_zeros(x.shape) if t is None and isinstance(x, Tensor) else t for x, t in zip(args, tangents, strict=True)]
    found = cls.jvp(ctx, *tangents)
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(outputs):
        raise RuntimeError(f"{cls.__name__}.jvp returned {len(found)} tangents for {len(outputs)} outputs")
    for output, tangent in zip(outputs, found, strict=True):
        if isinstance(output, Tensor) and tangent is not None:
            set_tangent(output, tangent)


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """For a backward that is not itself made of differentiable operations: differentiating it raises instead of being silently wrong."""

    @functools.wraps(fn)
    def backward(ctx: Any, *grads: Any) -> Any:
        bits = swap_bits(GRAD, 0)
        try:
            results = fn(ctx, *grads)
        finally:
            swap_bits(GRAD, bits)
        if not bits or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return results
        many = results if isinstance(results, tuple) else (results,)
        blocked = iter(_Once.apply(*(r for r in many if isinstance(r, Tensor)), *grads))
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
