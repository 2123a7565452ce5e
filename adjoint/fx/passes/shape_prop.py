"""Shapes and dtypes of the values in a graph, found by running it."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..._dtype import dtype
from ..._layout import channels_last, channels_last_3d, contiguous_format
from ..._size import Size
from ..._tensor import Tensor
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is kept of a tensor."""

    shape: Size
    dtype: dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    formats = (contiguous_format, *((channels_last,) if result.ndim == 4 else (channels_last_3d,) if result.ndim == 5 else ()))
    found = None
    if include_contiguity:
        found = next((form for form in formats if result.is_contiguous(memory_format=form)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), found, False, {})


class ShapeProp(Interpreter):
    """Runs a graph and writes into each node's `meta["tensor_meta"]` what kind of tensor it gives.

    >>> import adjoint as ad
    >>> from adjoint.fx.passes.shape_prop import ShapeProp
    >>> traced = ad.fx.symbolic_trace(ad.nn.Sequential(ad.nn.Linear(4, 2), ad.nn.ReLU()))
    >>> _ = ShapeProp(traced).propagate(ad.ones(3, 4))
    >>> [tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes]
    [(3, 4), (3, 2), (3, 2), (3, 2)]
    """

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        tensors = []

        def kept(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            tensors.append(value)
            return _extract_tensor_metadata(value)

        meta = map_aggregate(result, kept)
        if tensors:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on these arguments."""
        return super().run(*args)
