"""Automatic differentiation: `backward`, `grad`, custom functions, gradient checking and the modes that control recording."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import anomaly as anomaly_mode  # noqa: F401  (PyTorch's name of the module)
from .anomaly import detect_anomaly as detect_anomaly
from .anomaly import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .anomaly import is_anomaly_enabled as is_anomaly_enabled
from .anomaly import set_detect_anomaly as set_detect_anomaly
from .grad_mode import enable_grad as enable_grad
from .grad_mode import inference_mode as inference_mode
from .grad_mode import is_multithreading_enabled as is_multithreading_enabled
from .grad_mode import no_grad as no_grad
from .grad_mode import set_grad_enabled as set_grad_enabled
from .grad_mode import set_multithreading_enabled as set_multithreading_enabled

if TYPE_CHECKING:
    from .differentiate import backward as backward
    from .differentiate import grad as grad
    from .function import Function as Function
    from .function import FunctionCtx as FunctionCtx
    from .gradcheck import gradcheck as gradcheck
    from .gradcheck import gradgradcheck as gradgradcheck
    from .stepping import steps as steps

# These stand on Tensor, which stands on the modules above: they are imported when first asked for.
_LATER = {
    "Function": "function",
    "FunctionCtx": "function",
    "GradientEdge": "differentiate",
    "SavedTensor": "packed",
    "Variable": "variable",
    "_unsafe_preserve_version_counter": "graph",
    "backward": "differentiate",
    "forward_ad": "",
    "function": "",
    "functional": "",
    "grad": "differentiate",
    "gradcheck": "gradcheck",
    "gradgradcheck": "gradcheck",
    "graph": "",
    "_disable_profiler": "profiler",
    "_profiler_enabled": "profiler",
    "kineto_available": "profiler",
    "profiler": "",
    "profiler_util": "",
    "steps": "stepping",
    "variable": "",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'adjoint.autograd' has no attribute '{name}'")
    if not _LATER[name]:
        return import_module(f".{name}", __name__)
    home = import_module(f".{_LATER[name]}", __name__)
    # All of them, because importing `gradcheck` has put the module where its function belongs.
    found = {other: getattr(home, other) for other, module in _LATER.items() if module == _LATER[name]}
    globals().update(found)
    import_module("adjoint.ops._generated").documented(found, "autograd.")
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
