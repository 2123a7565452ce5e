"""Processes with different numbers of inputs. Who has used up its own would leave the others waiting in their collectives; so it stays, and
takes part in them with values that change nothing, until all are done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..._creation import ones, zeros
from ..._site import warn
from .._collectives import all_reduce
from .._groups import get_rank
from .._work import Work

__all__ = ["Join", "JoinHook", "Joinable"]

_MANY = 1000  # steps by which a process may be behind before it is told


class JoinHook:
    """What a process does after its own inputs are used up."""

    def main_hook(self) -> None:
        """Take part in one step of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """When all are done; `is_last_joiner` says whether this process was among the last."""


class _JoinConfig(NamedTuple):
    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False  # the one that tells the others, in each step, that this process has inputs

    @staticmethod
    def construct_disabled_join_config() -> _JoinConfig:
        return _JoinConfig()


class Joinable(ABC):
    """Something that takes part in a `Join`: it calls `Join.notify_join_context(self)` before the collectives of each step."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook: ...

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the tensors with which processes tell each other that they have inputs."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any: ...


class Join:
    """A `with` block in which processes may have different numbers of inputs. At its end, who is done takes part in the others' steps.

    `throw_on_early_termination` raises an error in all processes instead, as soon as one is done.
    """

    def __init__(self, joinables: Sequence[Any], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        groups = [one.join_process_group for one in joinables]
        if any(group != groups[0] for group in groups):
            raise ValueError("Using join context manager with multiple process groups")
        self._joinables, self._group = joinables, groups[0]
        self._enable, self._throw = enable, throw_on_early_termination
        self._hooks = [one.join_hook(**kwargs) for one in joinables]
        for place, one in enumerate(joinables):
            one._join_config = _JoinConfig(enable, throw_on_early_termination, place == 0)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, *_: object) -> None:
        if not self._enable or kind is not None:
            return
        steps = 0
        while self._others_going_on():
            if self._throw:
                all_reduce(ones(1), group=self._group)
                raise RuntimeError(f"Rank {get_rank(self._group)} exhausted all inputs.")
            for hook in self._hooks:
                hook.main_hook()
            steps += 1
            if steps == _MANY:
                warn(
                    f"Detected uneven input skew of greater than {_MANY}. This means that rank {get_rank(self._group)} has at least "
                    f"{_MANY} fewer inputs than other currently-active ranks. This level of skew could lead to performance degradation "
                    "during training."
                )
        for hook in self._hooks:
            hook.post_hook(steps == 0)

    def _others_going_on(self) -> bool:
        count = zeros(1)
        all_reduce(count, group=self._group)
        return bool(count.item())

    @staticmethod
    def notify_join_context(joinable: Any) -> Any:
        """Tell those who are done that this process is not. The result says how many are not; None outside of a `Join`."""
        if not hasattr(joinable, "_join_config"):
            raise AssertionError(f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor")
        config = joinable._join_config
        if not config.enable or not config.is_first_joinable:
            return None
        going_on = ones(1)
        all_reduce(going_on, group=joinable.join_process_group)  # as those who are done do: MPI does not match it with a nonblocking one
        if config.throw_on_early_termination:
            done = zeros(1)
            all_reduce(done, group=joinable.join_process_group)
            if done.item():
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return Work(result=[going_on])
