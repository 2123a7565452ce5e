"""The few names of PyTorch's compiled module that programs and libraries use."""

from __future__ import annotations

from enum import Enum
from importlib import import_module
from typing import Any

from .._device import device, get_default_device
from .._homes import settle
from .._layer import _levels
from .._overriding import DisableTorchFunction, DisableTorchFunctionSubclass, _disabled, modes
from .._standing import inert
from .._state import GRAD, swap_bits
from .._tensor import Tensor
from .._tensor import disabled_torch_function as _disabled_torch_function_impl
from . import _fft as _fft
from . import _linalg as _linalg
from . import _nn as _nn
from . import _special as _special

__all__ = [
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "DispatchKey", "DispatchKeySet", "TensorBase", "_disabled_torch_function_impl",
    "_set_grad_enabled",
]  # fmt: skip

TensorBase = Tensor


class ScriptObject:
    """An object of a class that PyTorch has compiled. There is none here, so that nothing is an instance."""


_TensorMeta = type(Tensor)


def _is_torch_function_enabled() -> bool:
    """Whether classes derived from Tensor are asked."""
    return not _disabled.get()


def _is_torch_function_mode_enabled() -> bool:
    return bool(modes())


def _set_grad_enabled(mode: bool) -> None:
    swap_bits(GRAD, GRAD if mode else 0)


# ---- which kernel serves: here it is Python that decides ----------------------------------------------------------------------------

_BACKENDS = ("CPU", "CUDA", "HIP", "XLA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "MTIA", "MAIA", "PrivateUse1", "PrivateUse2",
             "PrivateUse3", "Meta")  # fmt: skip
_KINDS = ("", "Quantized", "Sparse", "SparseCsr", "NestedTensor", "Autograd")

DispatchKey = Enum(  # type: ignore[misc]
    "DispatchKey",
    ["Undefined", "CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd", "CompositeImplicitAutogradNestedTensor",
     "CompositeImplicitAutograd", "AutogradNestedTensor", "AutogradOther", "Autograd", "Conjugate", "ZeroTensor", "Negative",
     "BackendSelect", "ADInplaceOrView", "PythonTLSSnapshot", "Python", "FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode",
     "FuncTorchBatchedDecomposition", "FuncTorchBatched", "FuncTorchVmapMode", "FuncTorchGradWrapper", "PythonDispatcher", "PreDispatch",
     "Functionalize", *(f"Autocast{name}" for name in ("CPU", "MPS", "XPU", "HPU", "IPU", "CUDA", "PrivateUse1")), "Dense", "Quantized",
     "Sparse", "SparseCsr", "NestedTensor", "AutogradFunctionality", *(kind + backend for kind in _KINDS for backend in _BACKENDS)],
)  # fmt: skip


class DispatchKeySet:
    """Several dispatch keys."""

    def __init__(self, *keys: Any) -> None:
        self._keys = frozenset(keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys, *other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys & other._keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys - other._keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(sorted(key.name for key in self._keys))})"

    def add(self, key: Any) -> DispatchKeySet:
        return self | DispatchKeySet(key)

    def remove(self, key: Any) -> DispatchKeySet:
        return self - DispatchKeySet(key)

    def has(self, key: Any) -> bool:
        return key in self._keys


@inert("no key decides here which kernel serves, so none is left out")
class _ExcludeDispatchKeyGuard:
    """A `with` block in which PyTorch leaves out kernels of some keys."""

    def __init__(self, keys: DispatchKeySet) -> None:
        self._keys = keys

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def __getattr__(name: str) -> Any:
    if name in ("_VariableFunctions", "_VariableFunctionsClass"):  # whose members most functions are in PyTorch, and in its pickles
        return import_module("adjoint")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


# ---- what is going on ---------------------------------------------------------------------------------------------------------------


@inert("nothing is logged")
def _log_api_usage_once(event: str) -> None:
    """Nothing happens."""


def _get_tracing_state() -> None:
    """None: nothing is being traced."""


def _is_tracing() -> bool:
    """False: nothing is being traced."""
    return False


def _are_functorch_transforms_active() -> bool:
    """Whether the program is inside a function that `func.grad`, `func.vmap` or the like calls."""
    return bool(_levels.get())


def _get_default_device() -> str:
    return str(get_default_device())


def _get_accelerator(check: bool | None = None) -> device:
    """The CPU: there is no accelerator."""
    return device("cpu")


def _get_cudnn_enabled() -> bool:
    from ..backends import cudnn

    return cudnn.enabled


def _get_privateuse1_backend_name() -> str:
    return "privateuseone"


def _show_config() -> str:
    from ..__config__ import show

    return show()


def _current_graph_task_id() -> int:
    """-1: no backward pass of PyTorch's engine goes on. `autograd.graph` tells of adjoint's."""
    return -1


@inert("products of half precision are always summed in float32")
def _set_math_sdp_allow_fp16_bf16_reduction(enabled: bool) -> None:
    """Nothing happens."""


# ---- TorchScript's types and settings -----------------------------------------------------------------------------------------------


class JitType:
    """The base of TorchScript's types. Nothing is compiled, so nothing has one."""


class TensorType(JitType):
    """TorchScript's type of tensors."""


class FloatType(JitType):
    """TorchScript's type of numbers."""


class Value:
    """A value in a graph of TorchScript. Nothing is compiled, so there is none."""


class Graph:
    """A graph of TorchScript. Nothing is compiled, so there is none."""


_jit: dict[str, Any] = {}


def _setting(name: str) -> Any:
    @inert("nothing is compiled")
    def change(enabled: Any) -> Any:
        before = _jit.get(name, False)
        _jit[name] = enabled
        return before

    return change


_jit_set_profiling_executor = _setting("profiling_executor")
_jit_set_profiling_mode = _setting("profiling_mode")
_jit_set_texpr_fuser_enabled = _setting("texpr_fuser")
_jit_set_nvfuser_enabled = _setting("nvfuser")
_jit_set_nvfuser_guard_mode = _setting("nvfuser_guard")
_jit_override_can_fuse_on_cpu = _setting("fuse_on_cpu")
_jit_override_can_fuse_on_gpu = _setting("fuse_on_gpu")


def _jit_can_fuse_on_cpu() -> bool:
    """What `_jit_override_can_fuse_on_cpu` has set; nothing is compiled."""
    return bool(_jit.get("fuse_on_cpu", False))


def _jit_can_fuse_on_gpu() -> bool:
    """What `_jit_override_can_fuse_on_gpu` has set; nothing is compiled."""
    return bool(_jit.get("fuse_on_gpu", False))


settle(
    __name__,
    {
        "_distributed_c10d": ("distributed", "nn.parallel.distributed"),
        "_distributed_rpc": ("distributed.rpc",),
        "_functorch": ("_functorch._steps",),
    },
    within=__package__.rpartition(".")[0],
)
