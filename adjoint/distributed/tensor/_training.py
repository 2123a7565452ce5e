"""Optimizers and norms of gradients, for parameters of which each process has a part.

What treats every element by itself works on the parts: an optimizer is run on those, with all its fast ways, by a twin of itself that
knows nothing of other processes. A norm is combined from those of the parts.
"""

from __future__ import annotations

from collections import defaultdict
from copy import copy
from typing import Any

import numpy as np

from ..._creation import full
from ..._dtype import float64
from ..._tensor import Tensor
from ._api import DTensor, DTensorSpec, local_of, make
from ._redistribute import redistributed, reduced
from .placement_types import Replicate, Shard


def step_parts(optimizer: Any, number: int, group: dict[str, Any], params: list[Tensor], site: Any) -> list[Tensor]:
    """Update the parts that this process has of the DTensors among the parameters of group `number`, and return the others."""
    divided: list[Any] = [param for param in params if param.__class__ is DTensor]
    if not divided:
        return params
    twins: dict[int, Any] = optimizer.__dict__.setdefault("_twins", {})
    twin = twins.get(number)
    if twin is None:
        twin = twins[number] = copy(optimizer)
        twin._plans, twin.state = {}, defaultdict(dict)
    for param in divided:
        local = param._local_tensor
        local._grad = _like_parameter(param, param._grad)
        state = optimizer.state.get(param) or {}
        known = twin.state.get(local) or {}
        if len(state) != len(known) or any(local_of(value) is not known.get(name) for name, value in state.items()):
            twin.state[local] = {name: local_of(value) for name, value in state.items()}
    try:
        twin._step_group(number, {**group, "params": [param._local_tensor for param in divided]}, [p._local_tensor for p in divided], site)
    finally:
        for param in divided:
            param._local_tensor._grad = None
    for param in divided:
        found = twin.state.get(param._local_tensor) or {}
        state = optimizer.state[param] if found else {}
        for name in found:  # in the same order on all processes, which gather one after the other
            if name not in state:
                state[name] = make(found[name], param._spec) if name in optimizer.buffers(group) else found[name]
    return [param for param in params if param.__class__ is not DTensor]


def _like_parameter(param: DTensor, gradient: Any) -> Tensor:
    """The part of a gradient that belongs to the part of its parameter."""
    if not isinstance(gradient, DTensor):
        raise RuntimeError("the gradient of a DTensor has to be one: write param.grad = distribute_tensor(grad, mesh, placements)")
    return redistributed(gradient._local_tensor, gradient.shape, param.device_mesh, gradient.placements, param.placements)


def total_norm(tensors: list[Any], norm_type: float, norm_of: Any) -> DTensor:
    """The norm of all tensors together, some of them divided. `norm_of` gives that of tensors which are here."""
    meshes: dict[Any, list[Any]] = {}
    for x in tensors:
        meshes.setdefault((x.device_mesh, x.placements) if isinstance(x, DTensor) else None, []).append(x)
    mesh = next(key[0] for key in meshes if key is not None)
    norms = []
    for key, some in meshes.items():
        here = [local_of(x) for x in some]
        norm = norm_of([x for x in here if x.numel()] or [full((), 0.0, dtype=here[0].dtype)], norm_type).to(float64)
        groups = [] if key is None else [key[0].get_group(i) for i, placement in enumerate(key[1]) if isinstance(placement, Shard)]
        for group in groups:
            if abs(norm_type) == np.inf:
                norm = reduced(norm, "max" if norm_type > 0 else "min", group)
            elif norm_type == 0:
                norm = reduced(norm, "sum", group)
            else:
                norm = reduced(norm**norm_type, "sum", group) ** (1 / norm_type)
        norms.append(norm)
    total = norm_of(norms, norm_type if norm_type else 1.0).to(local_of(tensors[0]).dtype)
    return make(total, DTensorSpec(mesh, tuple([Replicate()] * mesh.ndim), total.shape))
