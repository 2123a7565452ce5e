"""PyTorch's wrapper for training in several processes, of which there is one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..._standing import inert, refused
from ...distributed import get_rank, require
from ..module import Module


class DistributedDataParallel(Module):
    """Calls the module that it wraps: gradients of one process need no averaging. The state dict has its prefix, `module.`.

    How gradients are gathered up on their way (`bucket_cap_mb`, `gradient_as_bucket_view` and others) makes no difference in one process.
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0, broadcast_buffers: bool = True,
        init_sync: bool = True, process_group: Any = None, bucket_cap_mb: float | None = None, find_unused_parameters: bool = False,
        check_reduction: bool = False, gradient_as_bucket_view: bool = False, static_graph: bool = False,
        delay_all_reduce_named_params: Any = None, param_to_hook_all_reduce: Any = None, mixed_precision: Any = None,
        device_mesh: Any = None, skip_all_reduce_unused_params: bool = False,
    ) -> None:  # fmt: skip
        get_rank(process_group)  # an error where there is no group
        super().__init__()
        if not any(parameter.requires_grad for parameter in module.parameters()):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.")
        if device_ids or output_device is not None:
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device GPU modules "
                f"or CPU modules, but got device_ids {device_ids}, output_device {output_device}: leave them out on the CPU"
            )
        if mixed_precision is not None:
            raise NotImplementedError("DistributedDataParallel: write torch.autocast('cpu', dtype) instead of mixed_precision")
        self.module = module
        self.dim = dim
        self.device_ids = None
        self.process_group = require(process_group if device_mesh is None else device_mesh.get_group())
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        self.parameters_to_ignore: set[str] = getattr(module, "_ddp_params_and_buffers_to_ignore", set())

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """As nothing is averaged, nothing changes."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextmanager
    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Iterator[None]:
        """A `with` block in which processes may have different numbers of inputs. There is one."""
        yield

    def join_hook(self, **kwargs: Any) -> Any:
        from ...distributed.algorithms import JoinHook

        return JoinHook()

    @refused("gradients of one process go nowhere; train without a communication hook", RuntimeError)
    def register_comm_hook(self, state: Any, hook: Any) -> None: ...

    @inert("nothing is gathered up, so it makes no difference whether the graph stays the same")
    def _set_static_graph(self) -> None:
        """Nothing happens."""

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, params_and_buffers_to_ignore: Any) -> None:
        """Say which parameters need no averaging."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore


@refused("gradients of one process are not gathered up", RuntimeError)
class Reducer:
    """Gathers up gradients on their way to other processes."""
