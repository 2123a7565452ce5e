"""LRScheduler, the base class of learning-rate schedules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any
from weakref import ref

from .._events import SCHEDULER_STEP
from .._site import warn
from .._tensor import Tensor
from .optimizer import Group, Optimizer

EPOCH_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. "
    "Please use `scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, "
    "the closed form is used instead of the new chainable form, where available."
)
ORDER_PAGE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


class LRScheduler:
    """A learning rate for every epoch. Call `scheduler.step()` once per epoch (or batch), after `optimizer.step()`.

    A subclass defines `get_lr`, which gives the rate of each group for `self.last_epoch`, usually from the present one, so that schedules
    can be combined; and, where there is a formula for it, `_get_closed_form_lr`, which starts from `self.base_lrs`.
    """

    optimizer: Optimizer
    last_epoch: int
    _is_initial = False
    _get_lr_called_within_step = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        require_optimizer(optimizer)
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", own(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with last_epoch >= 0. "
                    "Load the optimizer's state first, or leave last_epoch out to begin anew."
                )
        self.base_lrs = [own(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        notice_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rate of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> list[float]:
        """The learning rate of each group at `self.last_epoch`; called by `step`."""
        raise NotImplementedError

    def get_last_lr(self) -> list[float]:
        """The learning rates that the last step set."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch (or to `epoch`) and set its learning rates."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_WARNING)
        self._update_lr(epoch)

    def _check_order(self) -> None:
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                f"Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. {ORDER_PAGE}"
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite order, "
                "`optimizer.step()` before `lr_scheduler.step()`: otherwise the first learning rate of the schedule is skipped. "
                f"{ORDER_PAGE}"
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed_form: Callable[[], list[float]] = getattr(self, "_get_closed_form_lr", self.get_lr)
                rates = closed_form()
        finally:
            self._get_lr_called_within_step = False
        self._set_rates(rates)

    def _set_rates(self, rates: Sequence[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_lr(group, rate)
        self._last_lr = self._rates()
        if SCHEDULER_STEP:
            SCHEDULER_STEP.tell(self)

    def _rates(self) -> list[float]:
        return [rate if (rate := group["lr"]).__class__ is float else own(rate) for group in self.optimizer.param_groups]

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`."
            )

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.__dict__.update(state_dict)


class FactorSchedule(LRScheduler):
    """A schedule that multiplies the learning rate: by `_factor()` from one epoch to the next, by `_total()` since the beginning."""

    def _factor(self) -> float:
        raise NotImplementedError

    def _total(self) -> float:
        raise NotImplementedError

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        factor = self._factor()
        return [rate * factor for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        total = self._total()
        return [base * total for base in self.base_lrs]


def require_optimizer(optimizer: object) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer\n  fix: give it the optimizer, whose learning rate it changes")


def own(setting: Any) -> Any:
    """A setting to keep: of a tensor a copy, since whose it is may change it in place."""
    return setting.clone() if isinstance(setting, Tensor) else setting


def set_lr(group: Group, rate: Any) -> None:
    """Set a learning rate; one that is a tensor stays the same tensor."""
    present = group["lr"]
    if present.__class__ is not float and isinstance(present, Tensor):
        present.fill_(rate.item() if isinstance(rate, Tensor) else rate)
    else:
        group["lr"] = rate


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """A setting for each group, from a list of them or one for all."""
    count = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        return [own(value) for _ in range(count)]
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups has {count}."
        )
    return list(map(own, value))


def notice_steps(optimizer: Optimizer) -> None:
    """Let the optimizer remember that `step` was called, so that a wrong order can be noticed."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    function = optimizer.step.__func__  # type: ignore[attr-defined]
    weak = ref(optimizer)

    @wraps(function)
    def noticed(*args: Any, **kwargs: Any) -> Any:
        alive: Any = weak()
        alive._opt_called = True
        return function(alive, *args, **kwargs)

    noticed._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = noticed  # type: ignore[method-assign]
