"""Parameters of which each process keeps its part, gathered together and reduced together.

Between uses a process has its parts only: DTensors, which optimizers update. For a forward or a backward of the module the whole
parameters are gathered, by one collective for all of them, into memory that stays where it is (`_pages.py`), and the modules hold these.
Afterwards the pages go back to the system. Gradients of the whole parameters are summed over the processes and each keeps its part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._site import here
from ..._tensor import Parameter, Tensor, wrap
from ...autograd.views import counter_of
from ...nn import Module
from .._collectives import all_gather_into_tensor, all_reduce, reduce_scatter_tensor
from .._groups import ReduceOp
from ..device_mesh import DeviceMesh
from ..tensor._api import DTensor, DTensorSpec, make
from ..tensor.placement_types import Replicate, Shard
from ._pages import Pages, aligned
from .api import MixedPrecisionPolicy

Place = tuple[Module, str]  # a module, and what it calls a parameter


class ShardedParameter:
    """A parameter: the part that this process keeps, and the whole while it is gathered."""

    def __init__(self, parameter: Tensor, places: list[Place], mesh: DeviceMesh, dim: int) -> None:
        self.places = places
        self.dim = dim
        self.parts, self.rank = mesh.size(mesh.ndim - 1), mesh.get_local_rank(mesh.ndim - 1)
        spec = DTensorSpec(mesh, (*[Replicate()] * (mesh.ndim - 1), Shard(dim)), parameter.shape)
        own = parameter.detach()
        local = own if self.parts == 1 else own.narrow(dim, *reversed(self.extent(parameter.shape, self.rank))).clone()
        self.shard: DTensor = Parameter(make(local, spec), parameter.requires_grad)  # type: ignore[assignment]
        self.whole: Parameter | None = None
        self.version = -1  # of the part, when it was last gathered
        self.put(self.shard)

    def extent(self, shape: Sequence[int], rank: int) -> tuple[int, int]:
        """How long the part of a process is, and where it begins."""
        return Shard.local_shard_size_and_offset(shape[self.dim], self.parts, rank)

    def part(self, whole: Any, rank: int) -> Any:
        """The part of a process in an array of the whole."""
        size, start = self.extent(whole.shape, rank)
        return whole[(slice(None),) * self.dim + (slice(start, start + size),)]

    @property
    def room(self) -> int:
        """How many elements the largest part has, which is the first one."""
        shape = self.shard.shape
        return shape.numel() // (shape[self.dim] or 1) * self.extent(shape, 0)[0]

    def put(self, tensor: Any) -> None:
        for module, name in self.places:
            module._parameters[name] = tensor

    def find(self) -> DTensor:
        """The part, which `load_state_dict(assign=True)` may have replaced."""
        module, name = self.places[0]
        found: Any = module._parameters[name]
        if found is not self.shard and isinstance(found, DTensor):
            self.shard = found
            self.put(found)
        return self.shard


class ParameterGroup:
    """The parameters that one call of `fully_shard` is about."""

    def __init__(
        self, parameters: Sequence[tuple[Tensor, list[Place]]], mesh: DeviceMesh, policy: MixedPrecisionPolicy,
        placement: Callable[[Any], Shard | None] | None,
    ) -> None:  # fmt: skip
        self.policy, self.mesh = policy, mesh
        self.shard_group = mesh.get_group(mesh.ndim - 1)
        self.replicate_group = mesh.get_group(0) if mesh.ndim == 2 else None
        self.parameters = [
            ShardedParameter(parameter, places, mesh, _dim_of(placement, parameter, mesh)) for parameter, places in parameters
        ]
        self.pages: Pages | None = None
        self.is_whole = False
        self.divide_by: float | None = None
        self.sync = self.all_reduce = True
        self.partial: dict[Any, Any] = {}  # gradients that are not yet summed over the replicas

    # ---- parameters -----------------------------------------------------------------------------------------------------------------

    def unshard(self) -> None:
        """Gather the whole parameters, and have the modules hold them."""
        if self.is_whole:
            if all(p.shard._local_tensor._version == p.version for p in self.parameters):
                return
        else:
            for p in self.parameters:
                p.find()
        self._make_room()
        if self.pages is not None and not any(p.shard.is_meta for p in self.parameters):
            self._gather()
        for p in self.parameters:
            assert p.whole is not None
            version = p.shard._local_tensor._version
            if version != p.version:
                counter_of(p.whole).bump(here())  # a graph of the old values cannot go back through the new ones
                p.version = version
            if p.whole.requires_grad != p.shard.requires_grad:
                p.whole.requires_grad_(p.shard.requires_grad)
            p.put(p.whole)
        self.is_whole = True

    def reshard(self) -> None:
        """Give the whole parameters up; the modules hold the parts."""
        if not self.is_whole:
            return
        for p in self.parameters:
            p.put(p.shard)
        if self.pages is not None:
            self.pages.release()
        self.is_whole = False

    def _make_room(self) -> None:
        """The whole parameters as tensors on the pages. They are made once, unless somebody has changed their dtypes."""
        kinds = [self._kind(p) for p in self.parameters]
        if self._alone(kinds):
            return
        if all(p.whole is not None and p.whole._data.dtype == kind for p, kind in zip(self.parameters, kinds, strict=True)):
            return
        sizes = [aligned(p.shard.numel() * kind.itemsize) for p, kind in zip(self.parameters, kinds, strict=True)]
        self.pages, start = Pages(sum(sizes)), 0
        for p, kind, size in zip(self.parameters, kinds, sizes, strict=True):
            count = p.shard.numel() * kind.itemsize
            p.whole = Parameter(wrap(self.pages.bytes[start : start + count].view(kind).reshape(p.shard.shape)), p.shard.requires_grad)
            p.version = -1
            start += size

    def _alone(self, kinds: list[Any]) -> bool:
        """Where one process has all parts, and computes with them as they are, the whole parameters share their memory."""
        locals_ = [p.shard._local_tensor._data for p in self.parameters]
        if self.mesh.size(self.mesh.ndim - 1) > 1 or any(kind != local.dtype for kind, local in zip(kinds, locals_, strict=True)):
            return False
        for p, local in zip(self.parameters, locals_, strict=True):
            if p.whole is None or p.whole._data is not local:
                p.whole = Parameter(wrap(local), p.shard.requires_grad)
        self.pages = None
        return True

    def _kind(self, p: ShardedParameter) -> Any:
        """The NumPy dtype in which a parameter is gathered."""
        own = p.shard._local_tensor._data.dtype
        wanted = self.policy.param_dtype
        return own if wanted is None or not p.shard.is_floating_point() else wanted.numpy

    def _gather(self) -> None:
        kinds = [self._kind(p) for p in self.parameters]
        starts = np.cumsum([0, *(aligned(p.room * kind.itemsize) for p, kind in zip(self.parameters, kinds, strict=True))])
        row = np.zeros(starts[-1], np.uint8)
        for p, kind, start in zip(self.parameters, kinds, starts, strict=False):
            local = p.shard._local_tensor._data
            row[start : start + local.size * kind.itemsize].view(kind)[...] = local.reshape(-1)
        rows = np.empty((self.mesh.size(self.mesh.ndim - 1), row.size), np.uint8)
        all_gather_into_tensor(wrap(rows), wrap(row), self.shard_group)
        for p, kind, start in zip(self.parameters, kinds, starts, strict=False):
            assert p.whole is not None
            for rank, other in enumerate(rows):
                part = p.part(p.whole._data, rank)
                part[...] = other[start : start + part.nbytes].view(kind).reshape(part.shape)

    # ---- gradients ------------------------------------------------------------------------------------------------------------------

    def reduce_gradients(self) -> None:
        """Average the gradients of the whole parameters over all processes; each keeps its part."""
        if not self.sync:
            return  # they go on adding up where they are
        kinds: dict[Any, list[ShardedParameter]] = {}
        for p in self.parameters:
            if p.whole is not None and p.whole._grad is not None:
                wanted = self.policy.reduce_dtype
                kinds.setdefault(p.whole._grad._data.dtype if wanted is None else wanted.numpy, []).append(p)
        for kind, some in kinds.items():
            self._reduce(kind, some)

    def drop_gradients(self) -> None:
        """Forget the gradients that were to be reduced, of a backward pass that has failed."""
        for p in self.parameters:
            if p.whole is not None:
                p.whole._grad = None

    def _reduce(self, kind: Any, some: list[ShardedParameter]) -> None:
        parts = self.mesh.size(self.mesh.ndim - 1)
        starts = np.cumsum([0, *(p.room for p in some)])
        rows = np.zeros((parts, starts[-1]), kind)
        for p, start in zip(some, starts, strict=False):
            gradient = p.whole._grad._data  # type: ignore[union-attr]
            for rank, row in enumerate(rows):
                part = p.part(gradient, rank)
                row[start : start + part.size].reshape(part.shape)[...] = part
            p.whole._grad = None  # type: ignore[union-attr]
        own = wrap(np.empty(starts[-1], kind))
        reduce_scatter_tensor(own, wrap(rows), ReduceOp.SUM, self.shard_group)
        if self.replicate_group is not None:
            before = self.partial.pop(kind, None)
            own = own if before is None else own + before
            if not self.all_reduce:
                self.partial[kind] = own
                return
            all_reduce(own, ReduceOp.SUM, self.replicate_group)
        own /= self.divide_by or self.mesh.size()
        for p, start in zip(some, starts, strict=False):
            local = p.shard._local_tensor
            self._add(p.shard, own[start : start + local.numel()].reshape(local.shape))

    @staticmethod
    def _add(shard: DTensor, gradient: Tensor) -> None:
        """Add to the gradient of a part, in its dtype and in memory of its own."""
        local = gradient.to(shard.dtype)
        if shard._grad is None:
            shard._grad = make(local.clone() if local is gradient or local._is_view() else local, shard._spec)
        else:
            shard._grad._local_tensor.add_(local)  # type: ignore[attr-defined]
        if shard._hooks is not None and shard._hooks.post_accumulate:
            shard._hooks.run_post_accumulate(shard)


def _dim_of(placement: Callable[[Any], Shard | None] | None, parameter: Tensor, mesh: DeviceMesh) -> int:
    """Which dimension of a parameter is divided: the first, unless the user says otherwise."""
    if parameter.ndim == 0:
        raise ValueError(
            "fully_shard doesn't support scalar parameters. Change the parameter to a 1D tensor with numel equal to 1."
        )
    chosen = None if placement is None else placement(parameter)
    if chosen is None:
        return 0
    if not isinstance(chosen, Shard):
        raise ValueError(f"shard_placement_fn has to return a Shard(dim) or None, but returned {chosen!r}")
    return chosen.dim % parameter.ndim
