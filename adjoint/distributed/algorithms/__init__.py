"""PyTorch's `torch.distributed.algorithms`: what processes do when they train together, and checkpointing of activations."""

from __future__ import annotations

from ..._homes import settle
from ..._standing import refused

_steps_itself = refused("adjoint steps when the optimizer's step() is called; register no hook for it", RuntimeError)


@_steps_itself
def hook_with_zero_step(*args: object, **kwargs: object) -> None: ...


@_steps_itself
def hook_with_zero_step_interleaved(*args: object, **kwargs: object) -> None: ...


_HOOKS = ("default_hooks", "post_localSGD_hook", "debugging_hooks", "optimizer_overlap_hooks", "quantization_hooks")
settle(
    __name__,
    {
        "join": ("_join",),
        "model_averaging": ("_averaging",),
        "model_averaging.averagers": ("_averaging",),
        "model_averaging.hierarchical_model_averager": ("_averaging",),
        "model_averaging.utils": ("_averaging",),
        "ddp_comm_hooks": ("_hooks", "_power_sgd"),
        **{f"ddp_comm_hooks.{name}": ("_hooks",) for name in _HOOKS},
        "ddp_comm_hooks.powerSGD_hook": ("_power_sgd",),
        "ddp_comm_hooks.ddp_zero_hook": ("",),
        "_checkpoint": ("_checkpointing",),
        "_checkpoint.checkpoint_wrapper": ("_checkpointing",),
    },
)
