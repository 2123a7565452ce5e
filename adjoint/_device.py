"""Devices: where a tensor's data lives. Every device PyTorch can name is named; `cpu` and `meta` can be used."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, NoReturn, SupportsIndex

# In the order in which PyTorch lists them.
_TYPES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
    "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip
_DEVICE_STRING = re.compile(r"([a-zA-Z_]+)(?::(0|[1-9][0-9]*))?")
_EXAMPLE = "write for example adjoint.device('cpu') or adjoint.device('cuda', 0)"


class device:
    """A device: `device("cpu")`, `device("cuda:1")`, `device("cuda", 1)`, `device(type="cpu", index=0)`."""

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __new__(
        cls, device: device | str | int | None = None, index: SupportsIndex | None = None, *, type: str | None = None
    ) -> device:
        if device.__class__ is str and index is None and type is None:
            return _KNOWN[device]
        given = type if device is None else device
        if given is None or isinstance(given, bool) or (device is not None and type is not None):
            raise TypeError(f"device() received an invalid combination of arguments; {_EXAMPLE}")
        if isinstance(given, str):
            return _new(*_parse(given, _checked_index(index)))
        if index is not None:
            raise TypeError(f"device(): argument 'type' (position 1) must be str, not {_kind(given)}; {_EXAMPLE}")
        if isinstance(given, cls):
            return given
        if hasattr(given, "__index__"):
            _refuse_accelerator(operator.index(given))
        raise TypeError(f"device() received an invalid combination of arguments - got ({_kind(given)}); {_EXAMPLE}")

    def __setattr__(self, attribute: str, value: object) -> NoReturn:
        if attribute in self.__slots__:
            raise AttributeError(f"attribute '{attribute}' of 'torch.device' objects is not writable")
        raise AttributeError(f"'torch.device' object has no attribute '{attribute}'")

    def __delattr__(self, attribute: str) -> NoReturn:
        raise AttributeError(f"attribute '{attribute}' of 'torch.device' objects is not writable")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return self is other or (self.type == other.type and self.index == other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[Any, tuple[str] | tuple[str, int]]:
        return device, (self.type,) if self.index is None else (self.type, self.index)

    def __enter__(self) -> device:
        """Inside `with device("meta"):` new tensors are made there, unless they say otherwise."""
        require_usable(self)
        _defaults.set((*_defaults.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _defaults.set(_defaults.get()[:-1])

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """As a decorator, for the body of a function."""

        @wraps(fn)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return fn(*args, **kwargs)

        return inside


def _kind(value: object) -> str:
    return "torch.device" if isinstance(value, device) else type(value).__name__


def _checked_index(index: SupportsIndex | None) -> int | None:
    if index is None:
        return None
    if isinstance(index, bool) or not hasattr(index, "__index__"):
        raise TypeError(f"device(): argument 'index' (position 2) must be int, not {_kind(index)}; {_EXAMPLE}")
    value = operator.index(index)
    if value < 0:
        raise RuntimeError(f"Device index must not be negative; got {value}")
    return value


def _refuse_accelerator(index: int) -> NoReturn:
    """A bare number names an accelerator, and there is none."""
    _checked_index(index)
    raise RuntimeError("Cannot access accelerator device when none is available; use device='cpu'")


def _parse(text: str, index: int | None) -> tuple[str, int | None]:
    """Type and index from a device string and, or, an index given beside it."""
    if not text:
        raise RuntimeError(f"Device string must not be empty; {_EXAMPLE}")
    match = _DEVICE_STRING.fullmatch(text)
    if match is None:
        raise RuntimeError(f"Invalid device string: '{text}'; {_EXAMPLE}")
    kind, digits = match.groups()
    if kind not in _TYPES:
        raise RuntimeError(f"Expected one of {', '.join(_TYPES)} device type at start of device string: {kind}")
    if index is None:
        return kind, None if digits is None else int(digits)
    if digits is not None:
        raise RuntimeError(
            f"type (string) must not include an index because index was passed explicitly: {text}; "
            f"write adjoint.device('{kind}', {index})"
        )
    return kind, index


def _new(kind: str, index: int | None = None) -> device:
    new = object.__new__(device)
    object.__setattr__(new, "type", kind)
    object.__setattr__(new, "index", index)
    return new


class _Known(dict[str, device]):
    """The devices that strings name, which are found sooner than made."""

    def __missing__(self, text: str) -> device:
        self[text] = made = _new(*_parse(text, None))
        return made


_KNOWN = _Known()
CPU, META = _KNOWN["cpu"], _KNOWN["meta"]

# The devices of the `with` blocks that are open, innermost last; the first is that of `set_default_device`.
_defaults: ContextVar[tuple[device, ...]] = ContextVar("adjoint_default_devices", default=(CPU,))


def get_default_device() -> device:
    """Where new tensors are made when no device is given."""
    return _defaults.get()[-1]


def set_default_device(device: device | str | int | None) -> None:
    """Choose where new tensors are made when no device is given."""
    _defaults.set((require_usable(resolve(device)), *_defaults.get()[1:]))

_NOT_COMPILED = {
    "cuda": "Torch not compiled with CUDA enabled",
    "xpu": "Torch not compiled with XPU enabled",
    "mtia": "Torch not compiled with MTIA enabled",
}


def resolve(obj: device | str | int | None) -> device:
    """The device that a `device=` argument names; None names the CPU."""
    if obj is None:
        return CPU
    if isinstance(obj, device):
        return obj
    if isinstance(obj, str) or (hasattr(obj, "__index__") and not isinstance(obj, bool)):
        return device(obj)
    raise TypeError(f"argument 'device' must be torch.device, not {_kind(obj)}; {_EXAMPLE}")


def require_usable(wanted: device) -> device:
    """The device a tensor asked for on `wanted` gets: CPU or META. Any other raises what PyTorch's CPU build raises."""
    if wanted.type == "cpu":
        return CPU
    if wanted.type == "meta":
        return META
    hint = "adjoint computes on the CPU: use device='cpu', or leave device out"
    if wanted.type in _NOT_COMPILED:
        raise AssertionError(f"{_NOT_COMPILED[wanted.type]}: cannot use device '{wanted}'. {hint}")
    raise NotImplementedError(
        f"Could not run 'aten::empty.memory_format' with arguments from the '{wanted.type.upper()}' backend. {hint}"
    )
