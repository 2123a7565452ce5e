"""Averages of a model's weights over training, and the learning rate that goes with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from math import cos, pi
from typing import Any

import numpy as np

from .._state import GRAD, swap_bits
from .._tensor import Tensor, wrap
from ..autograd.grad_mode import no_grad
from ..autograd.together import change
from ..nn.module import Module
from ..nn.normalization import _BatchNorm
from ._scheduler import per_group
from .lr_scheduler import LRScheduler
from .optimizer import Optimizer

Average = Callable[[Tensor, Tensor, Any], Tensor]
Averages = Callable[[list[Tensor], list[Tensor], Any], None]


# ---- kinds of averages --------------------------------------------------------------------------------------------------------------


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """An exponential moving average, for one tensor."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """An exponential moving average, for a list of tensors, in place."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: list[Tensor], current_param_list: list[Tensor], _: Any) -> None:
        for average, current in _moved(ema_param_list, current_param_list, 1 - decay):
            average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_avg_fn() -> Average:
    """The mean of all so far, for one tensor."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)  # type: ignore[no-any-return]

    return swa_update


def get_swa_multi_avg_fn() -> Averages:
    """The mean of all so far, for a list of tensors, in place."""

    @no_grad()
    def swa_update(averaged_param_list: list[Tensor], current_param_list: list[Tensor], num_averaged: Any) -> None:
        for average, current in _moved(averaged_param_list, current_param_list, 1 / (float(num_averaged) + 1)):
            average.copy_(average + (current - average) / (num_averaged + 1))

    return swa_update


def _moved(averages: list[Tensor], present: list[Tensor], weight: float) -> list[tuple[Tensor, Tensor]]:
    """Bring averages nearer to the present values; return the pairs of integers, which have nothing between them, as they are."""
    plain, integers = [], []
    for average, now in zip(averages, present, strict=True):
        old, new = average._data, now._data
        if old.dtype.char in "fd" and old.__class__ is np.ndarray and old.dtype is new.dtype and old.shape == new.shape:
            plain.append((average, now))
        elif average.is_floating_point() or average.is_complex():
            average.lerp_(now, weight)
        else:
            integers.append((average, now))
    change([average for average, _ in plain], _nearer if weight < 0.5 else _near_the_end, [weight], [now for _, now in plain])
    return integers


def _counted(numbers: Any, count: Any) -> tuple[Any]:
    return (count + 1,)


def _nearer(numbers: Any, start: Any, end: Any) -> tuple[Any]:
    return (start + numbers[0] * (end - start),)


def _near_the_end(numbers: Any, start: Any, end: Any) -> tuple[Any]:
    return (end - (end - start) * (1 - numbers[0]),)


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


# ---- the averaged model -------------------------------------------------------------------------------------------------------------


class AveragedModel(Module):
    """A copy of a model whose parameters are averages: `update_parameters(model)` after each step or epoch.

    >>> import adjoint as ad
    >>> model = ad.nn.Linear(1, 1)
    >>> averaged = ad.optim.swa_utils.AveragedModel(model)
    >>> averaged.update_parameters(model)
    >>> averaged.n_averaged
    tensor(1)
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", wrap(np.zeros((), np.int64)))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the present parameters of the model into the averages."""
        averages, current = self._tensors(self), self._tensors(model)
        bits = swap_bits(GRAD, 0)
        try:
            if self.n_averaged.item() == 0:
                for average, tensor in zip(averages, current, strict=True):
                    average.copy_(tensor.detach())
            elif self.avg_fn is not None:
                for average, tensor in zip(averages, current, strict=True):
                    average.copy_(self.avg_fn(average.detach(), tensor.detach(), self.n_averaged))
            else:
                update = self.multi_avg_fn or get_swa_multi_avg_fn()
                update([average.detach() for average in averages], [tensor.detach() for tensor in current], self.n_averaged)
            if not self.use_buffers:
                for kept, buffer in zip(self.module.buffers(), model.buffers(), strict=True):
                    kept.copy_(buffer.detach())
            change([self.n_averaged], _counted, ())
        finally:
            swap_bits(GRAD, bits)

    def _tensors(self, model: Module) -> list[Tensor]:
        """What is averaged."""
        inner = model.module if model is self else model
        return list(chain(inner.parameters(), inner.buffers()) if self.use_buffers else inner.parameters())


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of batch normalizations anew, from all the data: those of an averaged model are not averages."""
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    training = model.training
    model.train()
    bits = swap_bits(GRAD, 0)
    try:
        for batch in loader:
            given = batch[0] if isinstance(batch, list | tuple) else batch
            model(given if device is None else given.to(device))
    finally:
        swap_bits(GRAD, bits)
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        model.train(training)


class SWALR(LRScheduler):
    """Go from the present learning rate to `swa_lr` in some epochs, and stay there."""

    def __init__(
        self, optimizer: Optimizer, swa_lr: Any, anneal_epochs: Any = 10, anneal_strategy: str = "cos", last_epoch: int = -1
    ) -> None:
        rates = per_group("swa_lr", optimizer, swa_lr)
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        step = max(self._step_count - 1, 1 if self.anneal_epochs == 0 else 0)
        now, before = self._share(step), self._share(step - 1)
        starts = [_start(group["lr"], group["swa_lr"], before) for group in self.optimizer.param_groups]
        return [group["swa_lr"] * now + start * (1 - now) for group, start in zip(self.optimizer.param_groups, starts, strict=True)]

    def _share(self, step: int) -> float:
        """How much of the way is done."""
        done = max(0, min(1, step / max(1, self.anneal_epochs)))
        return (1 - cos(pi * done)) / 2 if self._anneal_strategy == "cos" else done


def _start(present: float, target: float, share: float) -> float:
    """Where the way began, from where it is now."""
    return target if share == 1 else (present - share * target) / (1 - share)
