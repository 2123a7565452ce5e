"""A module that is trained by several processes: each has a copy and works on its own inputs, and gradients are averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any, ClassVar
from weakref import finalize

from ..._creation import ones, zeros
from ..._site import warn
from ..._standing import inert, refused
from ..._tensor import Tensor
from ...autograd.grad_mode import is_grad_enabled, no_grad
from ...autograd.graph import _unsafe_preserve_version_counter
from ...distributed import ReduceOp, all_reduce, get_rank, get_world_size, require
from ...distributed._buckets import MEGABYTE, GradBucket
from ...distributed._reducer import Reducer
from ...distributed._replicas import broadcast_coalesced, verify
from ...distributed.algorithms._join import Join, Joinable, JoinHook
from ..embedding import Embedding, EmbeddingBag
from ..module import Module
from ._arguments import caps, check_hook, check_parameters, when_to_sync_buffers
from ._delayed import Delayed
from ._outputs import _find_tensors, through_sink

__all__ = ["DistributedDataParallel"]


class _BufferCommHookLocation(Enum):
    PRE_FORWARD, POST_FORWARD = 1, 2


class _DDPJoinHook(JoinHook):
    """What a process does for the others when it has no inputs left: it takes part in what they send."""

    def __init__(self, ddp: DistributedDataParallel, divide_by_initial_world_size: bool) -> None:
        self.ddp = ddp
        ddp._divide_by_initial_world_size = divide_by_initial_world_size

    def main_hook(self) -> None:
        ddp = self.ddp
        ddp.reducer._rebuild_buckets()
        if ddp._syncs_buffers(_BufferCommHookLocation.PRE_FORWARD):
            ddp._sync_buffers(own=False)
        ddp.require_forward_param_sync = ddp._others_average(own=False)
        if ddp.require_forward_param_sync:
            ddp.reducer.shadow()
            ddp.reducer._push_all_rebuilt_params()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Everybody gets the parameters of one that went on to the end."""
        ddp = self.ddp
        ddp._sync_states(ddp._common_rank(is_last_joiner), ddp.forward_sync_buffers)


class DistributedDataParallel(Module, Joinable):
    """Wraps a module, so that each process of a group can train it on inputs of its own. All begin with the parameters and buffers of the
    first one; gradients are averaged while `backward` runs, so that all take the same steps. The state dict has the prefix `module.`.

    `no_sync()` leaves the averaging out, to accumulate gradients. `bucket_cap_mb` says how much is sent in one message. Parameters that
    no gradient comes to need `find_unused_parameters`, or `static_graph` if they are always the same.

    >>> import adjoint as ad
    >>> ad.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> model = ad.nn.parallel.DistributedDataParallel(ad.nn.Linear(2, 1))
    >>> model(ad.ones(3, 2)).sum().backward()
    >>> model.module.bias.grad
    tensor([3.])
    >>> ad.distributed.destroy_process_group()
    """

    _active_ddp_module: ClassVar[DistributedDataParallel | None] = None
    reducer: Reducer

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0, broadcast_buffers: bool | None = None,
        init_sync: bool = True, process_group: Any = None, bucket_cap_mb: float | None = None, find_unused_parameters: bool = False,
        check_reduction: bool = False, gradient_as_bucket_view: bool = False, static_graph: bool = False,
        delay_all_reduce_named_params: Sequence[tuple[str, Tensor]] | None = None, param_to_hook_all_reduce: Tensor | None = None,
        mixed_precision: Any = None, device_mesh: Any = None, skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: Sequence[float] | None = None, batched_grad_copy: bool = False, forward_sync_buffers: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        Joinable.__init__(self)
        if (delay_all_reduce_named_params is None) != (param_to_hook_all_reduce is None):
            raise ValueError("delay_all_reduce_named_params and param_to_hook_all_reduce need to be set at the same time.")
        if process_group is not None and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        if device_mesh is not None and device_mesh.ndim != 1:
            raise RuntimeError(f"Only 1D device mesh is supported, but got {device_mesh}.")
        self.process_group = require(process_group if device_mesh is None else device_mesh.get_group())
        delayed = list(delay_all_reduce_named_params or ())
        self.parameters_to_ignore = {*getattr(module, "_ddp_params_and_buffers_to_ignore", ()), *(name for name, _ in delayed)}
        check_parameters(module, self.parameters_to_ignore, bool(delayed))
        if device_ids or output_device is not None:
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device GPU modules "
                f"or CPU modules, but got device_ids {device_ids}, output_device {output_device}: leave them out on the CPU"
            )
        if mixed_precision is not None:
            raise NotImplementedError("DistributedDataParallel: write torch.autocast('cpu', dtype) instead of mixed_precision")
        if check_reduction:
            warn("The `check_reduction` argument in `DistributedDataParallel` module is deprecated. Please avoid using it.", FutureWarning)
        self.forward_sync_buffers, init_buffers = when_to_sync_buffers(broadcast_buffers, forward_sync_buffers)
        self.module, self.dim = module, dim
        self.device_ids = self.output_device = None
        self.device = next(module.parameters()).device
        self.device_type, self.is_multi_device_module = self.device.type, False
        self.find_unused_parameters, self.gradient_as_bucket_view = find_unused_parameters, gradient_as_bucket_view
        self.batched_grad_copy, self.skip_all_reduce_unused_params = batched_grad_copy, skip_all_reduce_unused_params
        self.static_graph = False
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.broadcast_bucket_size = 250 * MEGABYTE
        self._bucket_caps = caps(bucket_cap_mb, bucket_cap_mb_list)
        self._comm_hooks: list[tuple[Callable[..., Any], Any]] = []
        self._static_graph_delay_allreduce_enqueued: bool | None = None  # None: it is not to be
        self._divide_by_initial_world_size = True
        self._delayed = Delayed([one for _, one in delayed], param_to_hook_all_reduce, self.process_group) if delayed else None
        if init_sync:
            verify(self.process_group, self._reduced())
            self._sync_states(0, init_buffers)
        self._make_reducer()
        if static_graph:
            self._set_static_graph()

    def _reduced(self) -> list[tuple[str, Tensor]]:
        """The parameters whose gradients are averaged; one that is shared, once."""
        return [(name, one) for name, one in self.module.named_parameters() if one.requires_grad and name not in self.parameters_to_ignore]

    def _make_reducer(self) -> None:
        named = self._reduced()
        tables = (module for module in self.module.modules() if isinstance(module, Embedding | EmbeddingBag) and module.sparse)
        sparse = {id(table.weight) for table in tables}
        self.reducer = Reducer(
            [one for _, one in named], [name for name, _ in named], self.process_group, [id(one) in sparse for _, one in named],
            self._bucket_caps, find_unused=self.find_unused_parameters, views=self.gradient_as_bucket_view,
            skip_unused=self.skip_all_reduce_unused_params,
        )  # fmt: skip
        finalize(self, self.reducer._remove_autograd_hooks).atexit = False

    # ---- training -------------------------------------------------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        self._pre_forward()
        outer, DistributedDataParallel._active_ddp_module = DistributedDataParallel._active_ddp_module, self
        try:
            output = self.module(*inputs, **kwargs)
        finally:
            DistributedDataParallel._active_ddp_module = outer
        return self._post_forward(output)

    def _pre_forward(self) -> None:
        joining = Join.notify_join_context(self)
        if joining is not None and not self._divide_by_initial_world_size:
            self.reducer.divisor = joining.result()[0].item()  # how many processes still have inputs
        if is_grad_enabled():
            self.reducer._rebuild_buckets()
        if self._syncs_buffers(_BufferCommHookLocation.PRE_FORWARD):
            self._sync_buffers()
        if self._join_config.enable:
            self._others_average(own=True)

    def _post_forward(self, output: Any) -> Any:
        if self._syncs_buffers(_BufferCommHookLocation.POST_FORWARD):
            self._sync_buffers()
        searched = self.find_unused_parameters and not self.static_graph
        self.require_forward_param_sync = is_grad_enabled() and self.require_backward_grad_sync
        if self.require_forward_param_sync:
            self.reducer.prepare_for_backward(list(_find_tensors(output)) if searched else [])
        if searched or self._static_graph_delay_allreduce_enqueued is False:
            output = through_sink(self, output)
        if self._delayed is not None:
            self._delayed.reset()
        return output

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A `with` block whose gradients stay in this process. The next ones outside of it are averaged together with them."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    # ---- parameters and buffers -----------------------------------------------------------------------------------------------------

    def _sync_states(self, src: int, buffers: bool) -> None:
        named = [*self.module.named_parameters(), *(self.module.named_buffers() if buffers else ())]
        tensors = [one for name, one in named if name not in self.parameters_to_ignore]
        broadcast_coalesced(self.process_group, tensors, self.broadcast_bucket_size, src)

    @property
    def broadcast_buffers(self) -> bool:
        return self.forward_sync_buffers

    @broadcast_buffers.setter
    def broadcast_buffers(self, value: bool) -> None:
        self.forward_sync_buffers = value

    @property
    def modules_buffers(self) -> list[Tensor]:
        return list(self.named_module_buffers.values())

    @property
    def named_module_buffers(self) -> dict[str, Tensor]:
        """The buffers that all processes have in common."""
        return {name: one for name, one in self.module.named_buffers() if name not in self.parameters_to_ignore}

    def will_sync_module_buffers(self) -> bool:
        return self.require_forward_param_sync and self.forward_sync_buffers and bool(self.named_module_buffers)

    def _syncs_buffers(self, location: _BufferCommHookLocation) -> bool:
        wanted = self._buffer_hook[2] if self._buffer_hook else _BufferCommHookLocation.PRE_FORWARD
        return location is wanted and self.will_sync_module_buffers()

    _buffer_hook: tuple[Any, Callable[..., Any], _BufferCommHookLocation] | None = None

    def _register_buffer_comm_hook(
        self, state: Any, hook: Callable[..., Any], comm_hook_location: Any = _BufferCommHookLocation.POST_FORWARD
    ) -> None:
        """Let `hook(state, buffers by name)` decide on the buffers, instead of taking those of the first process."""
        self._buffer_hook = (state, hook, comm_hook_location)

    def _sync_buffers(self, own: bool = True) -> None:
        """Take the buffers of the first process, or of one that still has inputs."""
        src = self._common_rank(own) if self._join_config.enable else 0
        with no_grad(), _unsafe_preserve_version_counter(tuple(self.modules_buffers)):
            if self._buffer_hook is None:
                broadcast_coalesced(self.process_group, self.modules_buffers, self.broadcast_bucket_size, src)
                return
            for future in self._buffer_hook[1](self._buffer_hook[0], self.named_module_buffers) or ():
                future.wait()

    # ---- uneven inputs --------------------------------------------------------------------------------------------------------------

    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False) -> Join:
        """A `with` block in which processes may have different numbers of inputs: who is done takes part in what the others send."""
        return Join([self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        return _DDPJoinHook(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        return self.device

    @property
    def join_process_group(self) -> Any:
        return self.process_group

    def _common_rank(self, candidate: bool) -> int:
        """The highest rank of those that may be taken, on which all agree."""
        chosen = ones(1) * (get_rank(self.process_group) if candidate else -1)
        all_reduce(chosen, ReduceOp.MAX, self.process_group)
        return int(chosen.item())

    def _others_average(self, own: bool) -> bool:
        """Whether processes that have inputs will average gradients; they tell those that have none."""
        wanted = ones(1) if own and self.require_backward_grad_sync else zeros(1)
        all_reduce(wanted, group=self.process_group)
        return bool(wanted.item())

    # ---- communication hooks --------------------------------------------------------------------------------------------------------

    def register_comm_hook(self, state: Any, hook: Callable[[Any, GradBucket], Any]) -> None:
        """Let `hook(state, bucket)` combine the gradients of a bucket, instead of their average. It returns a Future of them."""
        check_hook(hook)
        self.reducer.set_hook(state, hook)
        self._comm_hooks.append((hook, state))

    @refused("write register_comm_hook(None, default_hooks.allreduce_hook) instead", RuntimeError)
    def _register_builtin_comm_hook(self, comm_hook_type: Any) -> None: ...

    @refused("adjoint steps when the optimizer's step() is called", RuntimeError)
    def _register_fused_optim(self, optim: Any, *args: Any, optim_params: Any = None, **kwargs: Any) -> None: ...

    # ---- the rest -------------------------------------------------------------------------------------------------------------------

    def _set_static_graph(self) -> None:
        """All passes use the same parameters, each as often."""
        if self.static_graph:
            warn("You've set static_graph to be True, no need to set it again.")
            return
        self.reducer._set_static_graph()
        self.static_graph = True
        self._static_graph_delay_allreduce_enqueued = False
        if self.find_unused_parameters:
            warn(
                "You passed find_unused_parameters=true to DistributedDataParallel, `_set_static_graph` will detect unused parameters "
                "automatically, so you do not need to set find_unused_parameters=true, just be sure these unused parameters will not "
                "change during training loop while calling `_set_static_graph`."
            )

    def __getstate__(self) -> dict[str, Any]:
        if self.process_group is not require(None):
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default process group. That is, when you have called "
                "init_process_group and have not passed process_group argument to DDP constructor"
            )
        state: dict[str, Any] = {**super().__getstate__()}
        del state["process_group"], state["reducer"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.process_group = require(None)
        self._make_reducer()
        if self.static_graph:
            self.reducer._set_static_graph()
            self._static_graph_delay_allreduce_enqueued = False

    def _check_reducer_finalized(self) -> None:
        self.reducer._check_reducer_finalized()

    def _remove_autograd_hooks(self) -> None:
        """Average no gradients any more."""
        self.reducer._remove_autograd_hooks()

    def _update_process_group(self, new_process_group: Any) -> None:
        """Go on with another group."""
        self.process_group = require(new_process_group)
        self.reducer._remove_autograd_hooks()
        self._make_reducer()
        for hook, state in self._comm_hooks:
            self.reducer.set_hook(state, hook)

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """What is known about the wrapper."""
        buckets = self.reducer._buckets
        return {
            "module_name": type(self.module).__name__, "world_size": get_world_size(self.process_group),
            "rank": get_rank(self.process_group), "backend_name": self.process_group.name(), "device_ids": "", "output_device": -1,
            "broadcast_buffers": int(self.forward_sync_buffers), "find_unused_parameters": int(self.find_unused_parameters),
            "gradient_as_bucket_view": int(self.gradient_as_bucket_view), "static_graph": int(self.static_graph),
            "bucket_cap_bytes": self._bucket_caps[-1], "num_parameter_tensors": len(self.reducer.parameters),
            "total_parameter_size_bytes": sum(one.numel() * one.element_size() for one in self.reducer.parameters),
            "bucket_sizes": ", ".join(str(sum(one.numel() * one.element_size() for one in bucket.parameters)) for bucket in buckets),
            "has_rebuilt_buckets": int(self.reducer._rebuilt),
        }  # fmt: skip

    @inert("nothing is logged")
    def _set_ddp_runtime_logging_sample_rate(self, sample_rate: int) -> None:
        """Nothing happens."""

    @staticmethod
    def _get_data_parallel_params(module: Module, named_params: bool = False) -> Iterator[Any]:
        """The parameters of a module that are not to be ignored."""
        for name, one in module.named_parameters():
            if not hasattr(one, "_ddp_ignored"):
                yield (name, one) if named_params else one

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, params_and_buffers_to_ignore: Any) -> None:
        """Say which parameters and buffers each process has for itself."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore
        for name, one in (*module.named_parameters(), *module.named_buffers()):
            if name in params_and_buffers_to_ignore:
                vars(one)["_ddp_ignored"] = True
