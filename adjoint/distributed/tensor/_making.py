"""New tensors of which each process has a part. All processes have the numbers that the first one would have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._creation import empty as _empty
from ..._creation import full as _full
from ..._creation import ones as _ones
from ..._creation import zeros as _zeros
from ..._sampling import rand as _rand
from ..._sampling import randn as _randn
from ..device_mesh import DeviceMesh
from ._api import DTensor, distribute_tensor
from .placement_types import Placement


def _divided(make: Callable[..., Any]) -> Callable[..., DTensor]:
    def made(
        *size: Any, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, **options: Any
    ) -> DTensor:  # fmt: skip
        return distribute_tensor(make(*size, **options), device_mesh, placements)

    name = made.__name__ = made.__qualname__ = getattr(make, "__name__", "")
    made.__doc__ = f"`torch.{name}`, divided over `device_mesh` as `placements` say; every process has all of it if they do not."
    return made


empty, full, ones, zeros = _divided(_empty), _divided(_full), _divided(_ones), _divided(_zeros)
rand, randn = _divided(_rand), _divided(_randn)
