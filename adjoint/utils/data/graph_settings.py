"""PyTorch's `torch.utils.data.graph_settings`: settings of pipes, wherever in a chain they stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .datapipes import SHARDING_PRIORITIES, IterDataPipe, MapDataPipe, ShardingFilterIterDataPipe, ShufflerIterDataPipe

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings"]


def _pipes(datapipe: Any) -> Iterator[Any]:
    """A pipe and all that it reads from."""
    waiting, seen = [datapipe], set()
    while waiting:
        pipe = waiting.pop()
        if isinstance(pipe, IterDataPipe | MapDataPipe) and id(pipe) not in seen:
            seen.add(id(pipe))
            yield pipe
            for value in vars(pipe).values():
                waiting += value if isinstance(value, list | tuple) else [value]


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Turn shuffling on or off in every pipe that shuffles. None changes nothing."""
    shufflers = [pipe for pipe in _pipes(datapipe) if isinstance(pipe, ShufflerIterDataPipe)] if shuffle is not None else []
    for pipe in shufflers:
        pipe.set_shuffle(bool(shuffle))
    if shuffle and not shufflers:
        return datapipe.shuffle()
    return datapipe


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    """Give every pipe that shuffles a seed from a generator."""
    from ..._sampling import randint

    for pipe in _pipes(datapipe):
        if isinstance(pipe, ShufflerIterDataPipe):
            pipe.set_seed(int(randint(0, 2**31, (1,), generator=rng)))
    return datapipe


apply_shuffle_seed = apply_random_seed


def apply_sharding(
    datapipe: Any, num_of_instances: int, instance_id: int, sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT
) -> Any:
    """Tell every pipe that takes only a part of the samples which part it is."""
    for pipe in _pipes(datapipe):
        if isinstance(pipe, ShardingFilterIterDataPipe):
            pipe.apply_sharding(num_of_instances, instance_id, sharding_group)
    return datapipe
