"""Checks of settings that several optimizers share, with PyTorch's words."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor


def check_tensor_lr(lr: Any) -> None:
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_lr(lr: Any) -> None:
    check_tensor_lr(lr)
    check_at_least_zero("learning rate", lr)


def check_tensor_for_foreach(name: str, value: Any, foreach: bool | None, capturable: bool) -> None:
    if isinstance(value, Tensor) and foreach and not capturable:
        raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")


def check_at_least_zero(name: str, value: Any) -> None:
    if not 0.0 <= value:
        raise ValueError(f"Invalid {name}: {value}")


def check_betas(betas: Any) -> None:
    for place in (0, 1):
        if not 0.0 <= betas[place] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {place}: {betas[place]}")


def check_betas_alike(betas: Any) -> None:
    if not any(isinstance(betas[0], kind) and isinstance(betas[1], kind) for kind in (float, Tensor)):
        raise ValueError("betas must be either both floats or both Tensors")


def check_implementation(foreach: bool | None, fused: bool | None = None, differentiable: bool = False) -> None:
    """`foreach` and `fused` choose among PyTorch's implementations. Here there is one, but what contradicts itself is refused."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_devices(group: dict[str, Any], params: list[Tensor]) -> None:
    """What belongs to implementations for other devices than the CPU, or for other dtypes."""
    if group.get("capturable"):
        raise AssertionError(
            "If capturable=True, params and state_steps must be on supported devices: ['cuda', 'xpu', 'hpu', 'privateuseone'].\n"
            "  fix: leave capturable out, which is for CUDA graphs"
        )
    if group.get("fused"):
        for param in params:
            if not param.is_floating_point():
                raise RuntimeError(
                    "`fused=True` requires all the params to be floating point Tensors of supported devices: ['cpu'] but "
                    f"{param.dtype} and {param.device.type}"
                )
