"""Looking at the graph from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

from .._site import here
from .._tensor import Tensor
from .differentiate import GradientEdge
from .hooks import RemovableHandle
from .node import Node, public_edge
from .views import counter_of, edge_of


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where the gradient of a tensor goes. It can stand for the tensor in `autograd.grad`, and does not keep its value alive."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node, nr = public_edge(edge_of(tensor))
    return GradientEdge(node, nr)


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Tell autograd that the memory of a tensor was written by something it cannot see."""
    for one in (tensor,) if isinstance(tensor, Tensor) else tensor:
        counter_of(one).bump(here())


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all") -> _Handles:
    """Call `fn` once per backward pass: with all gradients when the last has come (`all`), or with the first that comes (`any`)."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = Lock()
    arrived: dict[int, Any] = {}
    current: list[int] = [-1]

    def hook_for(place: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            from .engine import graph_task_id

            with lock:
                task = graph_task_id()
                if task != current[0]:
                    current[0] = task
                    arrived.clear()
                arrived[place] = gradient
                first, complete = len(arrived) == 1, len(arrived) == len(tensors)
            if mode == "any" and first:
                fn(gradient)
            elif mode == "all" and complete:
                fn([arrived.get(i) for i in range(len(tensors))])

        return hook

    return _Handles([tensor.register_hook(hook_for(place)) for place, tensor in enumerate(tensors)])


@contextmanager
def save_on_cpu(pin_memory: bool = False, device_type: str = "cuda") -> Iterator[None]:
    """Nothing happens: what a graph saves is on the CPU anyway."""
    yield


class _Handles:
    """Several hooks removed together."""

    def __init__(self, handles: list[RemovableHandle]) -> None:
        self._handles = handles

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


__all__ = ["GradientEdge", "Node", "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu"]
