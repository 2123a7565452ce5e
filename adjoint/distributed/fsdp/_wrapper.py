"""PyTorch's `FullyShardedDataParallel`, the older form of `fully_shard`: a module around another one.

Its parameters are divided as by `fully_shard`, each by itself, as PyTorch does with `use_orig_params=True`; state dicts have the names of
the wrapped module, and whole tensors unless `state_dict_type` says otherwise. PyTorch takes it to a GPU unless `device_id` names the CPU,
and so it is here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..._device import resolve
from ..._errors import spelled
from ..._standing import refused
from ..._tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...nn import Module
from ...nn.utils import clip_grad_norm_
from .._collectives import broadcast
from .._groups import get_global_rank, get_rank, get_world_size
from ..device_mesh import DeviceMesh, init_device_mesh
from ..tensor._api import DTensor, make, part_of
from ._fully_shard import _owned
from ._group import ParameterGroup
from ._hooks import ShardedModules, state_of
from .api import (
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
    StateDictSettings,
    StateDictType,
)  # fmt: skip
from .wrap import CustomPolicy

INNER = "_fsdp_wrapped_module"
_FULL = StateDictSettings(StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig())


class FullyShardedDataParallel(Module):
    """A module whose parameters are divided over processes.

    >>> import adjoint as ad
    >>> from adjoint.distributed.fsdp import FullyShardedDataParallel as FSDP
    >>> ad.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> model = FSDP(ad.nn.Linear(2, 3), device_id="cpu")
    >>> model(ad.ones(1, 2)).sum().backward()
    >>> list(model.state_dict())
    ['weight', 'bias']
    >>> ad.distributed.destroy_process_group()
    """

    def __init__(
        self, module: Module, process_group: Any = None, sharding_strategy: ShardingStrategy | None = None, cpu_offload: Any = None,
        auto_wrap_policy: Any = None, backward_prefetch: Any = None, mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[Module] | None = None, param_init_fn: Callable[[Module], Any] | None = None, device_id: Any = None,
        sync_module_states: bool = False, forward_prefetch: bool = False, limit_all_gathers: bool = True, use_orig_params: bool = False,
        ignored_states: Iterable[Any] | None = None, device_mesh: DeviceMesh | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if device_id is None or isinstance(device_id, int) or resolve(device_id).type != "cpu":
            raise RuntimeError(
                spelled(
                    "FSDP needs a non-CPU accelerator device, but no accelerator device is detected.\n"
                    "  fix: FullyShardedDataParallel(model, device_id=torch.device('cpu')), or fully_shard(model)"
                )
            )
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        mesh = device_mesh or _mesh_of(process_group, strategy)
        ignored = list(ignored_states or ())
        ignored_parameters = {one for one in ignored if isinstance(one, Tensor)}
        for one in (*(ignored_modules or ()), *(one for one in ignored if isinstance(one, Module))):
            ignored_parameters.update(one.parameters())
        if param_init_fn is not None:
            for one in module.modules():
                if any(p is not None and p.is_meta for p in one._parameters.values()):
                    param_init_fn(one)
        if sync_module_states:
            for tensor in (*module.parameters(), *module.buffers()):
                if not isinstance(tensor, DTensor):
                    for place in range(mesh.ndim):
                        broadcast(tensor, get_global_rank(mesh.get_group(place), 0), mesh.get_group(place))
        if auto_wrap_policy is not None:
            options = dict(
                sharding_strategy=sharding_strategy, mixed_precision=mixed_precision, device_id=device_id, device_mesh=mesh,
                ignored_states=ignored_parameters,
            )  # fmt: skip
            _wrap_children(module, auto_wrap_policy, options)
        precision = mixed_precision or MixedPrecision()
        casts = precision.cast_forward_inputs or precision.cast_root_forward_inputs
        policy = MixedPrecisionPolicy(precision.param_dtype, precision.reduce_dtype, cast_forward_inputs=casts)
        if precision.buffer_dtype is not None:
            for one in module.modules():
                for name, buffer in one._buffers.items():
                    if buffer is not None and buffer.is_floating_point():
                        one._buffers[name] = buffer.to(precision.buffer_dtype)
        group = ParameterGroup(_owned([module], {id(p) for p in ignored_parameters}), mesh, policy, None)
        keeps = strategy in (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy.NO_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
        module.__dict__["_fsdp_state"] = ShardedModules([module], group, False if keeps else None)
        self._fsdp_wrapped_module = module
        self.sharding_strategy, self.mixed_precision, self.device_mesh = strategy, precision, mesh
        self._settings, self._is_summoned = _FULL, False
        self.register_load_state_dict_pre_hook(_to_load)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._fsdp_wrapped_module(*args, **kwargs)

    @property
    def module(self) -> Module:
        """The module inside."""
        return self._fsdp_wrapped_module

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == INNER:
                raise
            return getattr(self._fsdp_wrapped_module, name)

    def __getitem__(self, key: Any) -> Any:
        return self._fsdp_wrapped_module[key]  # type: ignore[index]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(f"{INNER}.", "") if self._is_summoned else name, parameter

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale the gradients down so that their norm, over all processes, is at most `max_norm`; return the norm that they had."""
        norm = clip_grad_norm_(self.parameters(), max_norm, norm_type)
        return norm.full_tensor() if isinstance(norm, DTensor) else norm

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Inside the `with` block backward does not reduce gradients: they add up, and the next backward outside reduces them."""
        states = _states(self)
        for state in states:
            state.group.sync = False
        try:
            yield
        finally:
            for state in states:
                state.group.sync = True

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """Those in a module; with `root_only`, those that are in no other."""
        found = [one for one in module.modules() if isinstance(one, FullyShardedDataParallel)]
        inner = {id(below) for one in found for below in one.modules() if below is not one}
        return [one for one in found if not root_only or id(one) not in inner]

    # ---- whole parameters -----------------------------------------------------------------------------------------------------------

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Module, recurse: bool = True, writeback: bool = True, rank0_only: bool = False, offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:  # fmt: skip
        """Inside the `with` block parameters are whole; what is written to them stays, if `writeback`. All processes have them."""
        if with_grads or (rank0_only and writeback):
            raise NotImplementedError("summon_full_params: gradients are not gathered, and all processes write their parts back")
        modules = FullyShardedDataParallel.fsdp_modules(module)
        states = _states(module) if recurse else _states(module)[:1]
        for state in states:
            state.group.unshard()
        for one in modules:
            one._is_summoned = True
        try:
            yield
        finally:
            for one in modules:
                one._is_summoned = False
            with no_grad():
                for state in states:
                    if writeback:
                        for p in state.group.parameters:
                            assert p.whole is not None
                            p.shard._local_tensor.copy_(part_of(p.whole.detach(), p.shard._spec))
                    state.group.reshard()

    # ---- state dicts ----------------------------------------------------------------------------------------------------------------

    @staticmethod
    def set_state_dict_type(
        module: Module, state_dict_type: StateDictType, state_dict_config: Any = None, optim_state_dict_config: Any = None
    ) -> StateDictSettings:
        """Say what `state_dict` and `optim_state_dict` give; return what was said before."""
        if state_dict_type is StateDictType.LOCAL_STATE_DICT:
            raise NotImplementedError("adjoint has full and sharded state dicts; write StateDictType.SHARDED_STATE_DICT")
        modules = FullyShardedDataParallel.fsdp_modules(module)
        before = modules[0]._settings if modules else _FULL
        full = state_dict_type is StateDictType.FULL_STATE_DICT
        wanted = StateDictSettings(
            state_dict_type, state_dict_config or FullStateDictConfig(rank0_only=False),
            optim_state_dict_config or FullOptimStateDictConfig(rank0_only=full and getattr(state_dict_config, "rank0_only", False)),
        )  # fmt: skip
        for one in modules:
            one._settings = wanted
        return before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        return next((one._settings for one in FullyShardedDataParallel.fsdp_modules(module)), _FULL)

    @staticmethod
    @contextmanager
    def state_dict_type(module: Module, *args: Any, **kwargs: Any) -> Iterator[None]:
        """`set_state_dict_type` inside the `with` block."""
        before = FullyShardedDataParallel.set_state_dict_type(module, *args, **kwargs)
        try:
            yield
        finally:
            for one in FullyShardedDataParallel.fsdp_modules(module):
                one._settings = before

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        for state in _states(self):
            state.group.reshard()
        made = super().state_dict(*args, destination=destination, prefix=prefix, keep_vars=keep_vars)
        full = self._settings.state_dict_type is StateDictType.FULL_STATE_DICT
        dropped = full and getattr(self._settings.state_dict_config, "rank0_only", False) and get_rank() != 0
        for key in [key for key in made if key.startswith(prefix)]:
            value = made.pop(key)
            whole = value.full_tensor() if full and isinstance(value, DTensor) else value
            if not dropped:
                made[prefix + key[len(prefix) :].replace(f"{INNER}.", "")] = whole
        return made

    @staticmethod
    def optim_state_dict(model: Module, optim: Any, optim_state_dict: Any = None, group: Any = None) -> dict[str, Any]:
        """The state of an optimizer, by the names of the parameters."""
        from ..checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict

        if optim_state_dict is not None:
            raise NotImplementedError("optim_state_dict: the state is read from the optimizer; leave the argument optim_state_dict out")
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        full = settings.state_dict_type is StateDictType.FULL_STATE_DICT
        first = full and getattr(settings.optim_state_dict_config, "rank0_only", False)
        return get_optimizer_state_dict(model, optim, options=StateDictOptions(full_state_dict=full, cpu_offload=first))

    @staticmethod
    def optim_state_dict_to_load(
        model: Module, optim: Any, optim_state_dict: dict[str, Any], is_named_optimizer: bool = False, load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Such a state as `optim.load_state_dict` takes it; with `load_directly` it is loaded."""
        from ..checkpoint.state_dict import numbered_state

        made = numbered_state(model, optim, optim_state_dict)
        if load_directly:
            optim.load_state_dict(made)
        return made

    @staticmethod
    @refused("write FullyShardedDataParallel.optim_state_dict(model, optim), which has names, and optim_state_dict_to_load", RuntimeError)
    def rekey_optim_state_dict(optim_state_dict: Any, optim_state_key_type: Any, model: Module, *args: Any, **kwargs: Any) -> Any: ...


def _states(module: Module) -> list[ShardedModules]:
    return list(dict.fromkeys(state for one in module.modules() if (state := state_of(one)) is not None))


def _mesh_of(group: Any, strategy: ShardingStrategy) -> DeviceMesh:
    """The processes over which parameters are divided, and those that have the same parts."""
    if strategy in (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2) or isinstance(group, tuple):
        raise ValueError(
            "HYBRID_SHARD: say which processes share parameters: device_mesh=init_device_mesh('cpu', (replicas, parts))"
        )
    if strategy is ShardingStrategy.NO_SHARD:
        return init_device_mesh("cpu", (get_world_size(), 1))
    return init_device_mesh("cpu", (get_world_size(),)) if group is None else DeviceMesh.from_group(group, "cpu")


def _wrap_children(module: Module, policy: Any, options: dict[str, Any]) -> int:
    """Wrap what a policy chooses below a module, the innermost first; how many parameters were left unwrapped."""
    left = sum(p.numel() for p in module._parameters.values() if p is not None)
    for name, child in list(module._modules.items()):
        if child is None or isinstance(child, FullyShardedDataParallel):
            continue
        unwrapped = _wrap_children(child, policy, options)
        if isinstance(policy, CustomPolicy):
            chosen = policy._lambda_fn(child)
        else:
            chosen = policy(module=child, recurse=False, nonwrapped_numel=unwrapped)
        if chosen:
            module._modules[name] = FullyShardedDataParallel(child, **{**options, **(chosen if isinstance(chosen, dict) else {})})
        else:
            left += unwrapped
    return left


def _to_load(module: Any, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    """Before loading: the names that the wrapped module's have here, and of whole tensors this process's part."""
    for state in _states(module):
        state.group.reshard()
    own = f"{prefix}{INNER}."
    for key in [key for key in state_dict if key.startswith(prefix) and not key.startswith(own)]:
        state_dict[own + key[len(prefix) :]] = state_dict.pop(key)
    for name, parameter in module._fsdp_wrapped_module.named_parameters():
        value = state_dict.get(own + name)
        if isinstance(parameter, DTensor) and isinstance(value, Tensor) and not isinstance(value, DTensor):
            if value.shape == parameter.shape:
                state_dict[own + name] = make(part_of(value.detach(), parameter._spec).clone(), parameter._spec)


class FlatParameter:
    """Parameters of several modules in one tensor. There is none."""
