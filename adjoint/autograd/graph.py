"""Looking at the graph from outside, and taking what it saves into one's own hands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

from .._site import here
from .._tensor import Tensor
from . import engine
from .differentiate import GradientEdge
from .hooks import RemovableHandle
from .node import INFERENCE_TENSOR, Node, public_edge
from .packed import MutationGuard, guard, in_force, refusal, saved_tensors_hooks
from .views import counter_of, edge_of


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where the gradient of a tensor goes. It can stand for the tensor in `autograd.grad`, and does not keep its value alive."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node, nr = public_edge(edge_of(tensor))
    if node is None:
        raise AssertionError("Expected gradient function to be set: this view was made when nothing was recorded")
    data = tensor._data
    return GradientEdge(node, nr, (data.shape, data.dtype) if isinstance(data, np.ndarray) else None)


def _get_grad_fn_or_grad_acc(tensor: Tensor) -> Any:
    """The node of a tensor, or the one that adds up its gradient."""
    return get_gradient_edge(tensor).node


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Tell autograd that the memory of a tensor was written by something it cannot see."""
    if not isinstance(tensor, Iterable):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for one in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not isinstance(one, Tensor):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        if one._vc is not INFERENCE_TENSOR:
            counter_of(one).bump(here())


class _unsafe_preserve_version_counter:
    """While it is on, autograd does not notice what is written to some tensors: whoever writes knows that nobody needs the old values."""

    def __init__(self, tensors: Tensor | tuple[Tensor, ...]) -> None:
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tensors
        if not isinstance(self.tensors, tuple):
            raise AssertionError("Expected tensors to be a tuple")
        self.before: list[tuple[int, int, list[Any]]] = []

    def __enter__(self) -> None:
        counters = map(counter_of, self.tensors)
        self.before = [(counter.version, counter.stamp, list(counter.writes)) for counter in counters]

    def __exit__(self, *_: object) -> None:
        for tensor, (version, stamp, writes) in zip(self.tensors, self.before, strict=True):
            counter = counter_of(tensor)
            counter.version, counter.stamp, counter.writes = version, stamp, writes


# ---- what the graph saves -----------------------------------------------------------------------------------------------------------


class save_on_cpu(saved_tensors_hooks):
    """Keep what is saved inside the block on the CPU, and bring it back to its device for backward."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: (tensor.device, tensor.cpu()), lambda packed: packed[1].to(packed[0]))


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Raise `error_message` where somebody puts hooks on saved tensors inside the block."""
    if in_force.get():
        raise RuntimeError(error_message)
    before = refusal.get()
    refusal.set(error_message)
    try:
        yield
    finally:
        refusal.set(before)


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[MutationGuard]:
    """Inside the block a saved tensor may be written to before backward: it is copied just before. Backward has to be inside too.

    >>> import adjoint as ad
    >>> x = ad.tensor([1.0, 2.0], requires_grad=True)
    >>> with ad.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     loss = (y * y).sum()
    ...     _ = y.zero_()
    ...     loss.backward()
    >>> x.grad
    tensor([2., 4.])
    """
    if guard.get() is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    present = MutationGuard()
    with saved_tensors_hooks(present.pack, present.unpack):
        guard.set(present)
        try:
            yield present
        finally:
            guard.set(None)
            present.clear()


# ---- hooks on several tensors -------------------------------------------------------------------------------------------------------


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all") -> _MultiHandle:
    """Call `fn` once per backward pass: with all gradients when the last that is to come has come, None for the others (`all`), or with
    the first that comes (`any`)."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    targets = [engine.target_of(edge_of(tensor)) for tensor in tensors]
    if None in targets:
        raise AssertionError("Expected gradient function to be set: all tensors have to require grad")
    lock = Lock()
    arrived: dict[int, Any] = {}
    current, expected = -1, 0

    def hook(place: int, gradient: Tensor) -> None:
        nonlocal current, expected
        with lock:
            task = engine.graph_task_id()
            if task != current:
                current = task
                arrived.clear()
                expected = sum(map(engine.will_run, targets)) if mode == "all" else 1
            arrived[place] = gradient
            complete = len(arrived) == expected
        if complete:
            fn([arrived.get(i) for i in range(len(tensors))] if mode == "all" else gradient)

    return _MultiHandle([tensor.register_hook(partial(hook, place)) for place, tensor in enumerate(tensors)])


class _MultiHandle(RemovableHandle):
    """Several hooks removed together."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _MultiHandle:
        return self


__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge", "increment_version",
    "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip
