"""What a module returns: the tensors in it, and a node behind them that the backward pass begins with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any
from weakref import ref

from ..._tensor import Tensor
from ...autograd.engine import queue_callback
from ...autograd.function import Function
from ...utils._pytree import tree_flatten, tree_unflatten


def _find_tensors(obj: Any) -> Iterator[Tensor]:
    """The tensors in what a module returns."""
    if isinstance(obj, Tensor):
        yield obj
    elif isinstance(obj, list | tuple):
        for one in obj:
            yield from _find_tensors(one)
    elif isinstance(obj, Mapping):
        yield from _find_tensors(list(obj.values()))
    elif is_dataclass(obj):
        yield from _find_tensors([getattr(obj, field.name) for field in fields(obj)])


class _DDPSink(Function):
    """Stands between the outputs and the loss. It runs first in the backward pass, and passes on that outputs were not used, so that the
    hooks of all parameters behind them run."""

    @staticmethod
    def forward(ctx: Any, model: ref[Any], *outputs: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.model = model
        return tuple(output.clone() for output in outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        model = ctx.model()
        if model is not None and model._static_graph_delay_allreduce_enqueued is False:
            model._static_graph_delay_allreduce_enqueued = True
            queue_callback(model.reducer._delay_all_reduce)
        return None, *grads


def through_sink(model: Any, output: Any) -> Any:
    """What a module returns, with the sink behind its tensors."""
    leaves, spec = tree_flatten(output)
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, Tensor) and leaf.grad_fn is not None]
    if places:
        for place, passed in zip(places, _DDPSink.apply(ref(model), *[leaves[place] for place in places]), strict=True):
            leaves[place] = passed
    return tree_unflatten(leaves, spec)
