"""PyTorch's `torch.distributed.tensor`: tensors of which each process has a part.

`placement_types` says what parts there are, `_redistribute` moves between them, `_dispatch` computes with them.
"""

from __future__ import annotations

from typing import Any

from ..._homes import settle
from ..._standing import refused
from ..device_mesh import DeviceMesh as DeviceMesh
from ..device_mesh import init_device_mesh as init_device_mesh
from . import parallel as parallel
from ._api import DTensor as DTensor
from ._api import DTensorSpec as DTensorSpec
from ._api import distribute_tensor as distribute_tensor
from ._api import local_of as local_of
from ._making import empty as empty
from ._making import full as full
from ._making import ones as ones
from ._making import rand as rand
from ._making import randn as randn
from ._making import zeros as zeros
from ._training import step_parts as step_parts
from ._training import total_norm as total_norm
from .placement_types import Partial as Partial
from .placement_types import Placement as Placement
from .placement_types import Replicate as Replicate
from .placement_types import Shard as Shard
from .placement_types import compute_local_shape_and_global_offset as compute_local_shape_and_global_offset

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor", "empty", "full",
    "init_device_mesh", "ones", "rand", "randn", "zeros",
]  # fmt: skip


@refused("adjoint divides a module's parameters by fully_shard(module), and gathers them for its forward; write that instead")
def distribute_module(module: Any, device_mesh: Any = None, *functions: Any) -> Any: ...


settle(
    __name__,
    {"_utils": ("placement_types",), "api": ("_api",), "experimental": ("parallel",), "experimental._attention": ("parallel",),
     "_dtensor_spec": ("_api",)},
)  # fmt: skip
