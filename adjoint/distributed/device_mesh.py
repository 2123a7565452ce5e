"""PyTorch's `torch.distributed.device_mesh`: the processes of a program as an array, with a group along each dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .._dtype import int32
from .._from_data import as_tensor
from .._ranges import arange
from .._tensor import Tensor
from ._groups import ProcessGroup, get_group_rank, get_rank, get_world_size, init_process_group, is_initialized, new_group, require

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """An array of processes.

    >>> import adjoint as ad
    >>> ad.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> ad.distributed.init_device_mesh("cpu", (1, 1), mesh_dim_names=("data", "model"))["data"]
    DeviceMesh((data=1), 'cpu')
    >>> ad.distributed.destroy_process_group()
    """

    def __init__(
        self, device_type: str, mesh: Any, *, mesh_dim_names: Sequence[str] | None = None, backend_override: Any = None,
        _groups: list[ProcessGroup] | None = None, _init_backend: bool = True,
    ) -> None:  # fmt: skip
        if not is_initialized():
            init_process_group()
        self.device_type = device_type
        self.mesh: Tensor = as_tensor(mesh, dtype=int32).detach()
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if self.mesh.numel() > get_world_size():
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {get_world_size()}, but found {self.mesh.numel()} ranks!"
            )
        self._coordinate = next((place for place in _places(self.shape) if int(self.mesh[place]) == get_rank()), None)
        self._groups = _groups if _groups is not None else [self._along(dim) for dim in range(self.ndim)]

    def _along(self, dim: int) -> Any:
        """The group of the processes that differ from this one along a dimension only."""
        place = list(self._coordinate or (0,) * self.ndim)
        ranks = [int(self.mesh[(*place[:dim], step, *place[dim + 1 :])]) for step in range(self.shape[dim])]
        return new_group(ranks)

    @staticmethod
    def from_group(group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None) -> DeviceMesh:
        """The mesh of a group."""
        found = require(group)
        return DeviceMesh(device_type, list(found._ranks), mesh_dim_names=mesh_dim_names, _groups=[found])

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.mesh.shape)

    @property
    def ndim(self) -> int:
        return self.mesh.ndim

    def size(self, mesh_dim: int | None = None) -> int:
        """How many processes there are, in all or along a dimension."""
        return math.prod(self.shape) if mesh_dim is None else self.shape[mesh_dim]

    def _dim(self, mesh_dim: int | str | None) -> int:
        if mesh_dim is None:
            if self.ndim != 1:
                raise RuntimeError(f"Found the DeviceMesh have {self.ndim} dimensions; say which one is meant")
            return 0
        return self._named(mesh_dim) if isinstance(mesh_dim, str) else mesh_dim

    def _named(self, name: str) -> int:
        if name not in (self.mesh_dim_names or ()):
            raise KeyError(f"Invalid mesh_dim_names {(name,)} specified. Valid mesh_dim_names are {list(self.mesh_dim_names or ())}.")
        return (self.mesh_dim_names or ()).index(name)

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group along a dimension."""
        return self._groups[self._dim(mesh_dim)]

    def get_all_groups(self) -> list[ProcessGroup]:
        return list(self._groups)

    def get_rank(self) -> int:
        """The number of this process in the program."""
        return get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The number of this process along a dimension."""
        return get_group_rank(self.get_group(mesh_dim), get_rank())

    def get_coordinate(self) -> tuple[int, ...] | None:
        """The place of this process in the array; None if it is not there."""
        return self._coordinate

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        chosen = (names,) if isinstance(names, str) else names
        dims = [self._named(name) for name in chosen]
        place = self._coordinate or (0,) * self.ndim
        part = self.mesh[tuple(slice(None) if dim in dims else place[dim] for dim in range(self.ndim))]
        part = part.permute([sorted(dims).index(dim) for dim in dims])
        return DeviceMesh(self.device_type, part, mesh_dim_names=chosen, _groups=[self._groups[dim] for dim in dims])

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None) -> DeviceMesh:
        """The same processes along one dimension."""
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ("mesh",))
        return DeviceMesh(self.device_type, self.mesh.reshape(-1), mesh_dim_names=(name,))

    def __enter__(self) -> DeviceMesh:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.device_type, self.mesh_dim_names, self.shape, tuple(self.mesh.reshape(-1).tolist())

    def __repr__(self) -> str:
        names = self.mesh_dim_names
        sizes = ", ".join(f"{name}={size}" for name, size in zip(names, self.shape, strict=True)) if names else str(self.shape)[1:-1]
        return f"DeviceMesh(({sizes}), '{self.device_type}')"


def _places(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    import numpy as np

    return list(np.ndindex(shape))


def init_device_mesh(
    device_type: str, mesh_shape: Sequence[int], *, mesh_dim_names: Sequence[str] | None = None, backend_override: Any = None
) -> DeviceMesh:
    """All processes as an array of a shape."""
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}")
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! "
                f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}."
            )
    if not device_type.isalpha():
        raise RuntimeError(f"Device type with index is not supported but got {device_type}: write device.type instead of the device")
    ranks = arange(math.prod(mesh_shape), dtype=int32).view(tuple(mesh_shape))
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)
