"""`fully_shard`: a module whose parameters are divided over the processes, in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from ..._standing import inert
from ..._tensor import Tensor
from ...nn import Module, ModuleDict, ModuleList
from ..device_mesh import DeviceMesh
from ..tensor._api import DTensor, _current_mesh
from ._group import ParameterGroup, Place
from ._hooks import ShardedModules, around_method, state_of
from .api import MixedPrecisionPolicy, OffloadPolicy

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method", "share_comm_ctx"]


class UnshardHandle:
    """The wait for parameters, which are there."""

    def wait(self) -> None:
        """Nothing is left to wait for."""


class FSDPModule:
    """What `fully_shard` adds to the class of a module."""

    _fsdp_state: ShardedModules

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather this module's own parameters, and have it hold them until `reshard`, or until backward has left it."""
        self._fsdp_state.group.unshard()
        return UnshardHandle() if async_op else None

    def reshard(self) -> None:
        """Give the gathered parameters up: the module holds the parts."""
        self._fsdp_state.group.reshard()

    def _states(self, recurse: bool = True) -> Iterator[ShardedModules]:
        modules: Any = self.modules() if recurse else (self,)  # type: ignore[attr-defined]
        yield from dict.fromkeys(state for one in modules if (state := state_of(one)) is not None)

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Whether backward reduces gradients; otherwise they add up, whole, on each process, and the next backward that does
        reduces them all."""
        for state in self._states(recurse):
            state.group.sync = state.group.all_reduce = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Whether backward sums gradients over replicas too, on a mesh of two dimensions."""
        for state in self._states(recurse):
            state.group.all_reduce = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether parameters are given up between forward and backward."""
        for state in self._states(recurse):
            state.reshard_after_forward = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Whether parameters are given up after backward: not, while gradients of several batches add up and memory allows."""
        for state in self._states(recurse):
            state.reshard_after_backward = reshard_after_backward

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Whether backward gathers parameters, which a module that only looks things up (an embedding) does without."""
        self._fsdp_state.unshard_in_backward = unshard_in_backward

    def set_gradient_divide_factor(self, factor: float) -> None:
        """What the sums of gradients are divided by, instead of the number of processes."""
        self._fsdp_state.group.divide_by = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    @inert("gradients are reduced at the end of each backward pass, so that nothing waits for a last one")
    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Nothing happens."""

    @inert("parameters are gathered when they are needed, not ahead of that")
    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """Nothing happens."""

    @inert("parameters are gathered when they are needed, not ahead of that")
    def set_modules_to_backward_prefetch(self, modules: list[Any]) -> None:
        """Nothing happens."""

    def __deepcopy__(self, memo: Any) -> NoReturn:
        raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")


def fully_shard(
    module: Any, *, mesh: DeviceMesh | None = None, reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Any], Any] | None = None, mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None, ignored_params: Iterable[Tensor] | None = None,
) -> Any:  # fmt: skip
    """Divide the parameters of a module over the processes, in place: each keeps its part, a DTensor, and the whole parameters are there
    during the module's forward and backward only. Call it for the layers first, then for the model, which takes what is left.

    On a mesh of two dimensions parameters are divided along the second and replicated along the first. All memory is the CPU's, so an
    `offload_policy` changes nothing.

    >>> import adjoint as ad
    >>> from adjoint.distributed.fsdp import fully_shard
    >>> ad.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> model = fully_shard(ad.nn.Linear(2, 3))
    >>> model(ad.ones(1, 2)).sum().backward()
    >>> model.bias.grad.full_tensor()
    tensor([1., 1., 1.])
    >>> ad.distributed.destroy_process_group()
    """
    modules: list[Any] = list(module) if isinstance(module, list | tuple) else [module]
    for one in modules:
        if isinstance(one, ModuleList | ModuleDict):
            raise ValueError(f"fully_shard does not support containers that do not implement forward: {one}\n  fix: fully_shard each layer")
        if state_of(one) is not None:
            raise AssertionError(f"Each distinct composable distributed API can only be applied to a module once: {type(one).__name__}")
    if isinstance(reshard_after_forward, int) and not isinstance(reshard_after_forward, bool):
        raise NotImplementedError("fully_shard: adjoint gives parameters up or keeps them; write reshard_after_forward=True or False")
    if mesh is None:
        mesh = _current_mesh()
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    ignored = {id(parameter) for parameter in ignored_params or ()}
    group = ParameterGroup(_owned(modules, ignored), mesh, mp_policy or MixedPrecisionPolicy(), shard_placement_fn)
    state = ShardedModules(modules, group, None if reshard_after_forward is None else bool(reshard_after_forward))
    for one in modules:
        cls = type(one)
        one.__dict__["_fsdp_state"] = state
        one.__class__ = type(f"FSDP{cls.__name__}", (FSDPModule, cls), {"__module__": cls.__module__})
    return module


def _owned(modules: list[Module], ignored: set[int]) -> list[tuple[Tensor, list[Place]]]:
    """The parameters of modules that no module below has divided already, each with all the places where it is used."""
    found: dict[int, tuple[Tensor, list[Place]]] = {}
    stack, seen = list(reversed(modules)), set()
    while stack:
        module = stack.pop()
        if module in seen or (module not in modules and state_of(module) is not None):
            continue
        seen.add(module)
        for name, parameter in module._parameters.items():
            if parameter is not None and id(parameter) not in ignored:
                if isinstance(parameter, DTensor):
                    raise NotImplementedError(
                        f"fully_shard: {name} of {type(module).__name__} is a DTensor already; leave it out by ignored_params, or shard "
                        "the model before its parameters are distributed"
                    )
                found.setdefault(id(parameter), (parameter, []))[1].append((module, name))
        stack.extend(reversed([child for child in module._modules.values() if child is not None]))
    return list(found.values())


def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """Have a method of a module gather the parameters as `forward` does."""
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    state = state_of(module)
    if state is not None:
        module.__dict__[method_name] = around_method(state, module, getattr(module, method_name))


@inert("there are no streams whose order modules could share")
def share_comm_ctx(modules: list[Any]) -> None:
    """Nothing happens."""
