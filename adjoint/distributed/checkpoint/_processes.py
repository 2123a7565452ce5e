"""The steps of a checkpoint, which processes take together: all go on when all have done a step, and all fail if one does."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from .._groups import get_rank, get_world_size, is_initialized
from .._objects import all_gather_object, broadcast_object_list
from .api import CheckpointException

T = TypeVar("T")


class Processes:
    """Those of a group; only this one where there is none, or where it is to work alone."""

    def __init__(self, group: Any, alone: bool) -> None:
        self.group = group
        self.alone = alone or not is_initialized()
        self.rank, self.size = (0, 1) if self.alone else (get_rank(group), get_world_size(group))

    @property
    def is_coordinator(self) -> bool:
        return self.rank == 0

    def all(self, step: str, work: Callable[[], T]) -> list[T]:
        """What each process makes."""
        found: list[Any] = [_outcome(work)] * self.size
        if not self.alone:
            all_gather_object(found, found[0], self.group)
        _check(step, {rank: error for rank, (_, error) in enumerate(found) if error is not None})
        return [result for result, _ in found]

    def first(self, step: str, work: Callable[[], T]) -> T:
        """What the first process makes, for all of them."""
        found: list[Any] = [_outcome(work) if self.is_coordinator else None]
        if not self.alone:
            broadcast_object_list(found, group=self.group, group_src=0)
        result, error = found[0]
        _check(step, {} if error is None else {0: error})
        return result  # type: ignore[no-any-return]


def _outcome(work: Callable[[], Any]) -> tuple[Any, Any]:
    try:
        return work(), None
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # an error of somebody's own, which may not be able to travel
            error = RuntimeError("".join(traceback.format_exception_only(type(error), error)).strip())
        return None, (error.with_traceback(None), frames)


def _check(step: str, failures: dict[int, Any]) -> None:
    if failures:
        raise CheckpointException(step, failures)
