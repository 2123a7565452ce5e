"""Averages of parameters over processes, for training that averages no gradients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

from ..._tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...ops.join import cat
from .._collectives import all_reduce
from .._groups import _rank_not_in_group, new_subgroups, require


def get_params_to_average(params: Iterable[Any]) -> list[Tensor]:
    """The parameters that have a gradient, of parameters or of groups of an optimizer."""
    made: list[Tensor] = []
    for one in params:
        if isinstance(one, Tensor):
            made.append(one)
        elif isinstance(one, dict):
            made += one["params"]
        else:
            raise NotImplementedError(f"Parameter input of type {type(one)} is not supported")
    return [one for one in made if one.grad is not None]


def average_parameters(params: Iterator[Tensor], process_group: Any) -> None:
    """Replace parameters by their average over the processes of a group, in one message for each dtype."""
    if _rank_not_in_group(process_group):
        return
    group = require(process_group)
    by_dtype: dict[Any, list[Tensor]] = {}
    for one in params:
        by_dtype.setdefault(one.dtype, []).append(one.detach())
    with no_grad():
        for alike in by_dtype.values():
            whole = cat([one.reshape(-1) for one in alike]).div_(group.size())
            all_reduce(whole, group=group)
            for one, values in zip(alike, whole.split([one.numel() for one in alike]), strict=True):
                one.copy_(values.view(one.shape))


def average_parameters_or_parameter_groups(params: Any, process_group: Any) -> None:
    """The same for parameters, or groups of an optimizer, that have gradients."""
    average_parameters(iter(get_params_to_average(params)), process_group)


class ModelAverager(ABC):
    """Averages parameters over processes. `step` counts the calls."""

    def __init__(self, process_group: Any = None) -> None:
        self.process_group = require(process_group)
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Any) -> None: ...


class PeriodicModelAverager(ModelAverager):
    """Averages parameters every `period` steps, after the first `warmup_steps`."""

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Any) -> None:
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1


class HierarchicalModelAverager(ModelAverager):
    """Averages parameters over neighbours often, and over more processes less often: `{2: 4, 8: 16}` is over each four processes every
    second step, and over each sixteen every eighth. The last number has to be that of all processes."""

    def __init__(self, period_group_size_dict: dict[int, int] | None = None, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        sizes = OrderedDict(period_group_size_dict or ())
        if not sizes:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        periods = list(sizes)
        if periods[0] <= 0:
            raise ValueError("The minimum period in arg ``period_group_size_dict`` must be a positive value.")
        if list(sizes.values())[-1] != self.process_group.size():
            raise ValueError(
                f"The last value in arg ``period_process_group_dict`` {list(sizes.values())[-1]} must be equal to the size of arg "
                f"``process_group`` {self.process_group.size()}."
            )
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps
        self._periods = periods
        whole = self.process_group.size()
        self.period_process_group_dict = OrderedDict(
            (period, self.process_group if size == whole else new_subgroups(group_size=size, group=self.process_group)[0])
            for period, size in sizes.items()
        )

    def _find_process_group(self) -> Any:
        """The largest group whose turn it is; None if it is none's."""
        for period in reversed(self._periods):
            if self.step % period == 0:
                return self.period_process_group_dict[period]
        return None

    def average_parameters(self, params: Any) -> None:
        if self.step >= self.warmup_steps:
            group = self._find_process_group()
            if group is not None:
                average_parameters_or_parameter_groups(params, group)
        self.step += 1
