"""PyTorch's `torch.onnx`, which writes models as ONNX files. adjoint does not: programs can import it, and are told when they call it."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

from .._homes import settle
from .._standing import inert, refused
from .._version import __version__ as producer_version
from . import symbolic_helper as symbolic_helper

__all__ = [
    "ONNXProgram", "OnnxExporterError", "OperatorExportTypes", "TensorProtoDataType", "TrainingMode", "export", "is_in_onnx_export",
    "producer_version", "register_custom_op_symbolic", "unregister_custom_op_symbolic",
]  # fmt: skip

producer_name = "adjoint"
NOT_WRITTEN = "adjoint does not write ONNX files; write torch.save(model.state_dict(), path), and export from PyTorch after load_state_dict"


class TensorProtoDataType(IntEnum):
    """ONNX's numbers for dtypes."""

    UNDEFINED, FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE, UINT32, UINT64 = range(14)
    COMPLEX64, COMPLEX128, BFLOAT16, FLOAT8E4M3FN, FLOAT8E4M3FNUZ, FLOAT8E5M2, FLOAT8E5M2FNUZ = range(14, 21)


class OperatorExportTypes(IntEnum):
    """What becomes of operations that ONNX does not have."""

    ONNX, ONNX_ATEN, ONNX_ATEN_FALLBACK, ONNX_FALLTHROUGH = range(4)


class TrainingMode(IntEnum):
    """In which mode a model is exported."""

    EVAL, PRESERVE, TRAINING = range(3)


class OnnxExporterError(RuntimeError):
    """What PyTorch raises where an export fails."""


class ONNXProgram:
    """What PyTorch's exporter returns."""


class JitScalarType:
    """The dtype of a value in a graph of TorchScript. There are no such graphs."""


@refused(NOT_WRITTEN)
def export(model: Any, args: Any = (), f: Any = None, **options: Any) -> Any: ...


def is_in_onnx_export() -> bool:
    """False: nothing is being exported."""
    return False


@inert("nothing is exported, so nobody asks how an operation is written in ONNX")
def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int) -> None:
    """Nothing happens."""


@inert("nothing is exported, so nobody asks how an operation is written in ONNX")
def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Nothing happens."""


def shape_as_tensor(x: Any) -> Any:
    """The sizes of a tensor, as a tensor."""
    from .._from_data import tensor

    return tensor(list(x.shape))


def reshape_from_tensor_shape(x: Any, shape: Any) -> Any:
    """A tensor in a shape that is given as a tensor."""
    return x.reshape(shape.tolist())


def __getattr__(name: str) -> Any:
    if name.startswith("symbolic_opset"):
        from importlib import import_module

        return import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


settle(__name__, {"_internal": ("",), "_internal.exporter": ("",), "errors": ("",), "operators": ("",), "utils": ("",)})
settle(__name__, {f"symbolic_opset{version}": ("symbolic_helper",) for version in range(7, 21)})
