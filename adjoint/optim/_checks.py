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


def check_tensor_lr_of_adam(lr: Any, foreach: bool | None, capturable: bool) -> None:
    if isinstance(lr, Tensor) and foreach and not capturable:
        raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")


def check_at_least_zero(name: str, value: Any) -> None:
    if not 0.0 <= value:
        raise ValueError(f"Invalid {name}: {value}")


def check_betas(betas: Any) -> None:
    if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
        raise ValueError("betas must be either both floats or both Tensors")
    for place, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {place}: {beta}")


def check_implementation(foreach: bool | None, fused: bool | None = None, differentiable: bool = False) -> None:
    """`foreach` and `fused` choose among PyTorch's implementations. Here there is one, but what contradicts itself is refused."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
