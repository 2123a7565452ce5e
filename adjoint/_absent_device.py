"""What the modules of devices that are not here have in common: `torch.xpu`, `torch.mps`, `torch.mtia` and `torch.cuda`.

They answer as PyTorch's do on a machine without such a device: there is none, it has no memory, and what needs one is refused.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ._standing import inert, refused

# What needs a device, answers that do not, and what there is nothing to do for. A module has those of these names that PyTorch's has.
NEEDS = (
    "current_device current_stream default_stream get_device_capability get_device_name get_device_properties get_rng_state init "
    "initial_seed mem_get_info set_device set_rng_state set_stream synchronize"
).split()
ANSWERS: dict[str, Callable[[], Any]] = {
    "is_available": bool, "is_initialized": bool, "is_bf16_supported": bool, "is_current_stream_capturing": bool, "device_count": int,
    "get_arch_list": list, "get_rng_state_all": list, "memory_stats": OrderedDict,
    **dict.fromkeys(("memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved", "current_allocated_memory",
                     "driver_allocated_memory", "recommended_max_memory"), int),
}  # fmt: skip
NOTHING = {
    **dict.fromkeys(("manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state_all"), "there is no generator on a GPU"),
    **dict.fromkeys(("empty_cache", "ipc_collect", "reset_peak_memory_stats", "reset_accumulated_memory_stats",
                     "set_per_process_memory_fraction"), "there is no memory on a GPU"),
}  # fmt: skip


def absent(scope: dict[str, Any], title: str, names: str, error: type[Exception] = AssertionError) -> None:
    """Give a module the functions of these names, for a device that is not here."""
    reason = f"Torch not compiled with {title} enabled: adjoint computes on the CPU; test torch.{title.lower()}.is_available() first"
    for name in names.split():
        if name in NEEDS:
            made = refused(reason, error)(_named(name, lambda *args, **kwargs: None))
        elif name in NOTHING:
            made = inert(NOTHING[name])(_named(name, lambda *args, **kwargs: None))
        else:
            made = _named(name, _answering(ANSWERS[name]))
        scope.setdefault(name, made)


def _answering(value: Callable[[], Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: value()


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    return function


class device:
    """A `with` block in which a device is the current one. Without one there is nothing to choose: None and -1 change nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None and self.idx != -1 and not _on_cpu(self.idx):
            raise AssertionError(f"there is no device {self.idx}: adjoint computes on the CPU; test is_available() first")

    def __exit__(self, *_: object) -> None:
        pass


class device_of(device):
    """The same, for the device of a tensor."""

    def __init__(self, obj: Any) -> None:
        super().__init__(getattr(obj, "device", None))


def _on_cpu(place: Any) -> bool:
    return str(getattr(place, "type", place)).startswith(("cpu", "meta"))


def stream(stream: Any) -> AbstractContextManager[Any]:
    """Nothing happens for None, which is the only stream there is."""
    return nullcontext()
