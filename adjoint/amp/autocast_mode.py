"""`autocast`, and PyTorch's functions around it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Self

from .._device import resolve
from .._dtype import bfloat16, dtype, float16, float32
from .._site import warn
from .._state import AUTOCAST, AUTOCAST_BFLOAT16, AUTOCAST_FLOAT16, get_mode, swap_bits
from .._tensor import Tensor

_BITS = {bfloat16: AUTOCAST_BFLOAT16, float16: AUTOCAST_FLOAT16}

# What is used where nothing is said. Other devices than the CPU are not there, but their settings can be set and read.
_dtypes: dict[str, dtype] = {"cpu": bfloat16}
_settings = {"cache": True}


class autocast:
    """In a block, or in a decorated function: products in half precision, losses in single precision.

    >>> import adjoint as ad
    >>> x = ad.ones(2, 2)
    >>> with ad.autocast("cpu", dtype=ad.float16):
    ...     (x @ x).dtype
    torch.float16
    """

    def __init__(
        self, device_type: str, dtype: dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = resolve(device_type).type
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        self._enabled = enabled and self._is_possible()
        self._before: list[int] = []

    def _is_possible(self) -> bool:
        if self.device != "cpu":
            name = self.device.upper()
            warn(f"{name} is not available or torch_xla is imported. Disabling autocast." if name == "CUDA" else
                 f"User provided device_type of '{self.device}', but {name} is not available. Disabling")  # fmt: skip
            return False
        if self.fast_dtype not in (bfloat16, float16, float32):
            warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
            )
            return False
        if self.fast_dtype is bfloat16:
            try:
                _ = bfloat16.numpy
            except ImportError as error:
                warn(f"Disabling autocast: {error}")
                return False
        return self.fast_dtype is not float32

    def __enter__(self) -> Self:
        self._before.append(swap_bits(AUTOCAST, _BITS[self.fast_dtype] if self._enabled else 0) if self.device == "cpu" else -1)
        return self

    def __exit__(self, *_: object) -> None:
        before = self._before.pop()
        if before >= 0:
            swap_bits(AUTOCAST, before)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(func)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return inside


# ---- for functions of one's own -----------------------------------------------------------------------------------------------------


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: dtype | None = None
) -> Callable[..., Any]:
    """Decorates the forward of an `autograd.Function`; with `cast_inputs` it runs outside autocast, on inputs of that dtype."""
    if fwd is None:
        return lambda given: custom_fwd(given, device_type=device_type, cast_inputs=cast_inputs)

    @wraps(fwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._fwd_autocast = get_mode() & AUTOCAST
        if cast_inputs is None or not ctx._fwd_autocast:
            return fwd(ctx, *args, **kwargs)
        ctx._fwd_autocast = 0
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast(args, cast_inputs), **_cast(kwargs, cast_inputs))

    return decorated


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorates the backward, which then runs as the forward did."""
    if bwd is None:
        return lambda given: custom_bwd(given, device_type=device_type)

    @wraps(bwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        before = swap_bits(AUTOCAST, ctx._fwd_autocast)
        try:
            return bwd(ctx, *args, **kwargs)
        finally:
            swap_bits(AUTOCAST, before)

    return decorated


def _cast(value: Any, to: dtype) -> Any:
    """A structure with the floating-point tensors in it converted."""
    if isinstance(value, Tensor):
        return value.to(to) if value.is_floating_point() and value.dtype.name != "float64" else value
    if isinstance(value, dict):
        return {key: _cast(entry, to) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_cast(entry, to) for entry in value)
    return value


# ---- PyTorch's functions ------------------------------------------------------------------------------------------------------------


def is_autocast_available(device_type: str) -> bool:
    """Whether PyTorch has autocast for a kind of device."""
    return device_type in ("cpu", "cuda", "mps", "xpu", "hpu", "mtia", "xla", "ipu")


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast is on; without an argument, for CUDA."""
    return device_type == "cpu" and bool(get_mode() & AUTOCAST)


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    if device_type == "cpu":
        swap_bits(AUTOCAST, _BITS.get(get_autocast_dtype("cpu"), 0) if enabled else 0)


def get_autocast_dtype(device_type: str) -> dtype:
    """The dtype that autocast uses."""
    mode = get_mode() & AUTOCAST
    if device_type == "cpu" and mode:
        return next(chosen for chosen, bits in _BITS.items() if bits == mode)
    return _dtypes.get(device_type, float16)


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    _dtypes[device_type] = dtype


def is_autocast_cpu_enabled() -> bool:
    return is_autocast_enabled("cpu")


def get_autocast_cpu_dtype() -> dtype:
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> dtype:
    return get_autocast_dtype("cuda")


def is_autocast_cache_enabled() -> bool:
    return _settings["cache"]


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Kept; conversions are not cached."""
    _settings["cache"] = bool(enabled)


def clear_autocast_cache() -> None:
    """Nothing happens: conversions are not cached."""
