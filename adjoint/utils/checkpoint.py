"""Trading time for memory: what a function computed in the forward pass is not kept, but computed again for the backward pass.

The function runs once with recording on, on detached inputs, to find the leaves that it uses beside its arguments (the parameters of a
module). Then the recording is dropped, and one node takes its place whose inputs are the arguments and those leaves.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from .._sampling import fork_rng, get_rng_state, set_rng_state
from .._state import tick
from .._tensor import Tensor
from ..autograd import Function, grad
from ..autograd.function import once_differentiable
from ..autograd.grad_mode import enable_grad, is_grad_enabled
from ..autograd.node import Node, Output
from ..autograd.views import edge_of

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential", "noop_context_fn"]

Contexts = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]


class CheckpointError(RuntimeError):
    """The function did something else when it was run again."""


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """The contexts for the forward pass and for the recomputation: none."""
    return nullcontext(), nullcontext()


def _map_tensors(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """The same structure of tuples, lists and dicts with every tensor changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_map_tensors(item, change) for item in value))
    if isinstance(value, tuple | list):
        return type(value)(_map_tensors(item, change) for item in value)
    if type(value) is dict:
        return {key: _map_tensors(item, change) for key, item in value.items()}
    return value


def _tensors(value: Any) -> list[Tensor]:
    found: list[Tensor] = []
    _map_tensors(value, found.append)
    return found


def _leaves(outputs: Iterable[Tensor], start: int) -> list[Tensor] | None:
    """The leaves that the outputs depend on; None when they depend on a computation from before `start`."""
    pending: list[Any] = [edge_of(output) for output in outputs]
    found: dict[int, Tensor] = {}
    seen: set[int] = set()
    while pending:
        edge = pending.pop()
        node = edge.node if isinstance(edge, Output) else edge
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Node):
            if node.seq < start:
                return None
            pending.extend(node.next)
        else:
            found[id(node)] = node
    return list(found.values())


@contextmanager
def _without_hooks(leaves: Iterable[Tensor]) -> Iterator[None]:
    """The hooks of a leaf run when its gradient leaves the checkpoint, and must not run inside it too."""
    hooks = [(leaf, leaf.__dict__.pop("_hooks")) for leaf in leaves if "_hooks" in leaf.__dict__]
    try:
        yield
    finally:
        for leaf, own in hooks:
            leaf._hooks = own


class _Segment:
    """A call that can be repeated."""

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any, preserve_rng_state: bool) -> None:
        self.function = function
        self.template = (args, kwargs)
        self.random_state = get_rng_state() if preserve_rng_state else None
        self.leaves: list[Tensor] = []
        self.shapes: list[Any] = []

    def call(self, inputs: Iterable[Tensor]) -> Any:
        """Run the function on other tensors in the places of its own."""
        replacement = iter(inputs)
        args, kwargs = _map_tensors(self.template, lambda _: next(replacement))
        return self.function(*args, **kwargs)

    def repeat(self, inputs: Iterable[Tensor], context: AbstractContextManager[Any]) -> list[Tensor]:
        with fork_rng(enabled=self.random_state is not None), enable_grad(), context:
            if self.random_state is not None:
                set_rng_state(self.random_state)
            outputs = _tensors(self.call(inputs))
        if [output.shape for output in outputs] != self.shapes:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the forward "
                f"pass: the shapes were {self.shapes} and are now {[output.shape for output in outputs]}"
            )
        return outputs


def _detached(tensors: Iterable[Tensor]) -> list[Tensor]:
    return [tensor.detach().requires_grad_(tensor.requires_grad) for tensor in tensors]


class _Recompute(Function):
    """The node that stands for the whole segment."""

    @staticmethod
    def forward(ctx: Any, segment: _Segment, outputs: list[Tensor], again: Any, count: int, *inputs: Tensor) -> tuple[Tensor, ...]:
        ctx.segment, ctx.again, ctx.count = segment, again, count
        ctx.save_for_backward(*inputs[:count])
        results = tuple(output.detach() for output in outputs)
        ctx.mark_non_differentiable(*(result for result, output in zip(results, outputs, strict=True) if not output.requires_grad))
        return results

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        segment = ctx.segment
        inputs = _detached(ctx.saved_tensors)
        outputs = segment.repeat(inputs, ctx.again)
        pairs = [(output, gradient) for output, gradient in zip(outputs, gradients, strict=True) if output.requires_grad]
        wanted = [tensor for tensor in (*inputs, *segment.leaves) if tensor.requires_grad]
        with _without_hooks(segment.leaves):
            found = iter(grad([output for output, _ in pairs], wanted, [gradient for _, gradient in pairs], allow_unused=True))
        return (None,) * 4 + tuple(next(found) if tensor.requires_grad else None for tensor in (*inputs, *segment.leaves))


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, context_fn: Contexts = noop_context_fn,
    determinism_check: str = "default", debug: bool = False, early_stop: bool = True, preserve_rng_state: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """`function(*args, **kwargs)`, computed again in the backward pass instead of keeping what it needs.

    Both of PyTorch's forms (`use_reentrant`) give the same result here. Gradients of gradients are not available through a checkpoint. A
    function that uses tensors with a history beside its arguments is run without a checkpoint.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly: write use_reentrant=False", stacklevel=2
        )
    if use_reentrant and kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs) + ": write use_reentrant=False to pass them on")
    if not is_grad_enabled():
        return function(*args, **kwargs)
    first, again = context_fn()
    segment = _Segment(function, args, kwargs, preserve_rng_state)
    inputs = _tensors(segment.template)
    start = tick()
    stand_ins = _detached(inputs)
    with first:
        result = segment.call(stand_ins)
    outputs = _tensors(result)
    leaves = _leaves(outputs, start)
    if leaves is None:
        if segment.random_state is not None:
            set_rng_state(segment.random_state)
        return function(*args, **kwargs)
    arguments = set(map(id, stand_ins))
    segment.leaves = [leaf for leaf in leaves if id(leaf) not in arguments]
    segment.shapes = [output.shape for output in outputs]
    if not any(output.requires_grad for output in outputs):
        return result
    results = iter(_Recompute.apply(segment, outputs, again, len(inputs), *inputs, *segment.leaves))
    return _map_tensors(result, lambda _: next(results))


def checkpoint_sequential(
    functions: Iterable[Callable[[Any], Any]], segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Modules one after the other, in so many segments; all but the last are checkpointed."""
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions)
    size = len(steps) // segments

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def forward(value: Any) -> Any:
            for step in steps[start:end]:
                value = step(value)
            return value

        return forward

    for segment in range(segments - 1):
        start = segment * size
        input = checkpoint(run(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return run((segments - 1) * size, len(steps))(input)
