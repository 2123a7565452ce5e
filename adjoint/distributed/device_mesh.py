"""PyTorch's `torch.distributed.device_mesh`: the processes of a program as an array, with a group along each dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .._dtype import int32
from .._from_data import as_tensor
from .._ranges import arange
from .._tensor import Tensor
from ._groups import (
    GroupMember,
    ProcessGroup,
    get_group_rank,
    get_rank,
    get_world_size,
    init_process_group,
    is_initialized,
    new_group,
    require,
)

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """An array of processes.

    >>> import adjoint as ad
    >>> ad.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> ad.distributed.init_device_mesh("cpu", (1, 1), mesh_dim_names=("data", "model"))["data"]
    DeviceMesh((data=1), 'cpu', stride=(1,))
    >>> ad.distributed.destroy_process_group()
    """

    def __init__(
        self, device_type: str, mesh: Any, *, mesh_dim_names: Sequence[str] | None = None, backend_override: Any = None,
        _groups: list[Any] | None = None, _root: DeviceMesh | None = None, _dims: Sequence[tuple[int, ...]] | None = None,
        _init_backend: bool = True,
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
        self._root = _root or self  # the array that this one is a part of
        self._dims = [(dim,) for dim in range(self.ndim)] if _dims is None else list(_dims)  # of the root, that each dimension consists of
        self._flattened: dict[str, tuple[tuple[int, ...], Any]] = {}  # dimensions of the root that are one as well, and their group
        self._coordinate = next((place for place in _places(self.shape) if int(self.mesh[place]) == get_rank()), None)
        self._groups = _groups if _groups is not None else [self._group_along(dims) for dims in self._dims]

    def _group_along(self, dims: tuple[int, ...]) -> Any:
        """The group of the processes that differ from this one along some dimensions of the root only; all processes make all of them."""
        mesh = self._root.mesh
        others = [dim for dim in range(mesh.ndim) if dim not in dims]
        lines = mesh.permute(*others, *dims).reshape(-1, math.prod(mesh.shape[dim] for dim in dims)).tolist()
        if lines == [list(range(get_world_size()))]:
            return require(None)
        made = [new_group(line) for line in lines]
        return next((one for one, line in zip(made, lines, strict=True) if get_rank() in line), GroupMember.NON_GROUP_MEMBER)

    @staticmethod
    def from_group(group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None) -> DeviceMesh:
        """The mesh of a group, or of one for each dimension of `mesh`."""
        if isinstance(group, list | tuple):
            if mesh is None:
                raise ValueError("Must pass mesh if passing multiple ProcessGroups")
            return DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, _groups=[require(one) for one in group])
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
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions: Optional kwarg `mesh_dim` needs to be specified when "
                    "device_mesh.ndim > 1, to say which one is meant"
                )
            return 0
        return self._named(mesh_dim) if isinstance(mesh_dim, str) else mesh_dim

    def _named(self, name: str) -> int:
        if name not in (self.mesh_dim_names or ()):
            raise KeyError(f"Invalid mesh_dim_names {(name,)} specified. Valid mesh_dim_names are {list(self.mesh_dim_names or ())}.")
        return (self.mesh_dim_names or ()).index(name)

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group along a dimension."""
        found: ProcessGroup = self._groups[self._dim(mesh_dim)]
        return found

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
        chosen = (names,) if isinstance(names, str) else tuple(names)
        if chosen == self.mesh_dim_names:
            return self
        own = dict(zip(self.mesh_dim_names or (), zip(self._dims, self._groups, strict=True), strict=True))
        table = own | self._root._flattened
        if not own:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        if any(name not in table for name in chosen):
            raise KeyError(f"Invalid mesh_dim_names {chosen} specified. Valid mesh_dim_names are {list(table)}.")
        dims = [table[name][0] for name in chosen]
        flat = [dim for some in dims for dim in some]
        if flat != sorted(set(flat)):
            raise KeyError(f"Invalid mesh_dim_names {chosen} specified. Mesh dim indices should be in ascending order.")
        return self._part(dims, chosen, [table[name][1] for name in chosen])

    def _part(self, dims: list[tuple[int, ...]], names: tuple[str, ...], groups: list[Any]) -> DeviceMesh:
        """The processes that differ from this one along some dimensions of the root only, as an array of those."""
        root = self._root
        flat = [dim for some in dims for dim in some]
        place = root._coordinate or (0,) * root.ndim
        part = root.mesh[tuple(slice(None) if dim in flat else place[dim] for dim in range(root.ndim))]
        shape = [math.prod(root.shape[dim] for dim in some) for some in dims]
        return DeviceMesh(self.device_type, part.reshape(shape), mesh_dim_names=names, _groups=groups, _root=root, _dims=dims)

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None) -> DeviceMesh:
        """The same processes along one dimension, which has a name in the root from now on."""
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ("mesh",))
        flat = tuple(dim for some in self._dims for dim in some)
        if self._root._flattened.get(name, (None,))[0] != flat:
            self._root._flattened[name] = flat, self._groups[0] if self.ndim == 1 else self._group_along(flat)
        return self._part([flat], (name,), [self._root._flattened[name][1]])

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
        sizes = f"({', '.join(f'{name}={size}' for name, size in zip(names, self.shape, strict=True))})" if names else str(self.shape)
        steps = self._root.mesh.contiguous().stride()
        stride = tuple(min(steps[dim] for dim in dims) for dims in self._dims)
        return f"DeviceMesh({sizes}, '{self.device_type}', stride={stride})"


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
