"""Where the storages in a file come to: PyTorch's `map_location`, and the packages that know about devices."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ._device import device
from .storage import UntypedStorage

_packages: list[tuple[int, Callable[..., Any], Callable[..., Any]]] = []


def register_package(priority: int, tagger: Callable[..., Any], deserializer: Callable[..., Any]) -> None:
    """Let `tagger(storage)` name the place of a storage that is saved, and `deserializer(storage, place)` bring one there; both may answer
    None. Those with the lowest number are asked first."""
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def _tagger(kind: str) -> Callable[..., Any]:
    return lambda storage: kind if storage.device.type == kind else None


def _on_cpu(storage: Any, location: str) -> Any:
    return storage if location == "cpu" else None


def _on_meta(storage: Any, location: str) -> Any:
    return UntypedStorage(storage.nbytes(), device="meta") if location == "meta" else None


def _on_absent(kind: str) -> Callable[..., Any]:
    def refuse(storage: Any, location: str) -> None:
        if location == kind or re.match(f"{kind}(:|[0-9]+)", location):
            _validate_device(location, kind)

    return refuse


def _validate_device(location: Any, backend_name: str) -> Any:
    upper = backend_name.upper()
    cpu = (
        "If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the "
        "CPU."
    )
    if backend_name not in ("cuda", "xpu", "mps"):
        raise RuntimeError(f"The {upper} device module is not registered. {cpu}")
    raise RuntimeError(
        f"Attempting to deserialize object on a {upper} device but torch.{backend_name}.is_available() is False. {cpu}"
    )


def validate_cuda_device(location: Any) -> Any:
    return _validate_device(location, "cuda")


def validate_hpu_device(location: Any) -> Any:
    return _validate_device(location, "hpu")


register_package(10, _tagger("cpu"), _on_cpu)
register_package(20, _tagger("cuda"), _on_absent("cuda"))
register_package(22, _tagger("meta"), _on_meta)
for _number, _kind in enumerate(("hpu", "xpu", "mtia"), 24):
    register_package(_number, _tagger(_kind), _on_absent(_kind))
_KNOWN = len(_packages)


def location_tag(storage: Any) -> str:
    """The name of the place of a storage."""
    if len(_packages) == _KNOWN:
        return str(storage.device.type)
    for _, tagger, _ in _packages:
        if location := tagger(storage):
            return str(location)
    raise RuntimeError(f"don't know how to determine data location of {_typename(storage)}")


def default_restore_location(storage: Any, location: str) -> Any:
    """The storage, at the place that a file or `map_location` names."""
    if location == "cpu" and len(_packages) == _KNOWN:
        return storage
    for _, _, deserializer in _packages:
        if (result := deserializer(storage, location)) is not None:
            return result
    raise RuntimeError(f"don't know how to restore data location of {_typename(storage)} (tagged with {location})")


def _typename(storage: Any) -> str:
    return f"torch.storage.{type(storage).__name__}"


def restoring(map_location: Any) -> Callable[[Any, str], Any]:
    """What is done with every storage of a file."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, str | bytes | device):
        place = map_location.decode() if isinstance(map_location, bytes) else str(map_location)
        return lambda storage, location: default_restore_location(storage, place)

    def restore(storage: Any, location: str) -> Any:
        result = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return restore


def is_meta(map_location: Any) -> bool:
    return isinstance(map_location, str | device) and str(map_location) == "meta"
