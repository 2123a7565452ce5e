"""PyTorch's `torch.onnx.symbolic_helper`: how operations are written in ONNX. Nothing is exported, so such functions are never called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .._standing import inert, refused

F = TypeVar("F", bound=Callable[..., Any])


@inert("nothing is exported, so arguments of such functions are never converted")
def parse_args(*arg_descriptors: str) -> Callable[[F], F]:
    """A decorator that gives back the function as it is."""
    return lambda function: function


@inert("nothing is exported, so arguments of such functions are never converted")
def quantized_args(*arg_q_descriptors: bool, **options: Any) -> Callable[[F], F]:
    """A decorator that gives back the function as it is."""
    return lambda function: function


cast_pytorch_to_onnx: dict[str, Any] = {}
scalar_type_to_onnx: list[Any] = []

# Functions that write an operation in ONNX, of this module and of `torch.onnx.symbolic_opset9` and so on.
_WRITTEN = (
    "_get_const _get_tensor_sizes _maybe_get_const _maybe_get_scalar _onnx_unsupported _reducesum_helper _squeeze_helper _unimplemented "
    "_unsqueeze_helper add arange cat clamp conv2d div dropout eq expand gather ge gt index_select le lt masked_fill matmul mul nonzero "
    "ones permute pow reciprocal reshape select size slice softmax squeeze stack sub transpose unsqueeze view where zeros"
).split()


def _written(name: str) -> Any:
    def write(*args: Any, **kwargs: Any) -> None: ...

    write.__name__ = write.__qualname__ = name
    return refused("adjoint does not write ONNX files, so operations are not written in ONNX; export from PyTorch")(write)


globals().update({name: _written(name) for name in _WRITTEN})
