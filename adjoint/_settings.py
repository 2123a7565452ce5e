"""Settings of PyTorch that have nothing to choose here: they are kept and given back, so that programs run unchanged."""

from __future__ import annotations

from typing import Any

from . import _unset
from ._dtype import set_default_dtype
from ._site import warn
from ._tensor import Tensor

_settings: dict[str, Any] = {"deterministic": False, "warn_only": False, "precision": "highest", "warn_always": False, "interop": 1}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """adjoint's results never depend on the number of threads; what this changes is that new memory is filled."""
    _settings["deterministic"], _settings["warn_only"] = bool(mode), bool(warn_only)
    _unset.choose(deterministic=bool(mode))


def are_deterministic_algorithms_enabled() -> bool:
    return bool(_settings["deterministic"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    return bool(_settings["warn_only"])


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """0 or "default", 1 or "warn", 2 or "error": `use_deterministic_algorithms` by a number."""
    modes = ("default", "warn", "error")
    number = modes.index(debug_mode) if debug_mode in modes else debug_mode
    if number not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, 2 or one of {', '.join(modes)}, but got {debug_mode}")
    use_deterministic_algorithms(number != 0, warn_only=number == 1)


def get_deterministic_debug_mode() -> int:
    return 0 if not _settings["deterministic"] else 1 if _settings["warn_only"] else 2


def set_float32_matmul_precision(precision: str) -> None:
    """Kept; float32 products are always computed in float32."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"{precision} is not one of 'highest', 'high', or 'medium'")
    _settings["precision"] = precision


def get_float32_matmul_precision() -> str:
    return str(_settings["precision"])


def set_warn_always(b: bool) -> None:
    """Kept; Python's own filters decide how often a warning is shown."""
    _settings["warn_always"] = bool(b)


def is_warn_always_enabled() -> bool:
    return bool(_settings["warn_always"])


def set_num_interop_threads(threads: int) -> None:
    """Kept; operations run one after the other."""
    from ._kernels.pool import counted

    _settings["interop"] = counted(threads, "set_num_interop_threads")


def get_num_interop_threads() -> int:
    return int(_settings["interop"])


def set_flush_denormal(mode: bool) -> bool:
    """Whether tiny numbers can be flushed to zero here: they cannot."""
    return False


def set_default_tensor_type(t: Any) -> None:
    """Choose the default dtype by the name of an old tensor type. Deprecated in PyTorch: use `set_default_dtype`."""
    from ._legacy import TENSOR_TYPES, tensortype

    warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives."
    )
    kind = t if isinstance(t, tensortype) else TENSOR_TYPES.get(str(t).removeprefix("torch."))
    if kind is None:
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    set_default_dtype(kind.dtype)


def is_storage(obj: object) -> bool:
    """Whether `obj` is a storage object."""
    from .storage import TypedStorage, UntypedStorage

    return isinstance(obj, UntypedStorage | TypedStorage)


def typename(obj: Any) -> str:
    """The name of an object's type: `torch.FloatTensor` for tensors."""
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = obj if isinstance(obj, type) or hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", "") or ""
    return kind.__qualname__ if module in ("", "builtins") else f"{module}.{kind.__qualname__}"
