"""The part of a dataset that one of several training processes works on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..._sampling import Generator, randperm
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index, from `rank` on. Call `set_epoch` before each epoch for a new order."""

    def __init__(
        self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True, seed: int = 0,
        drop_last: bool = False,
    ) -> None:  # fmt: skip
        from ...distributed import get_rank, get_world_size  # most programs that load data have one process

        num_replicas = get_world_size() if num_replicas is None else num_replicas
        rank = get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        size = len(dataset)
        self.num_samples = size // num_replicas if drop_last else math.ceil(size / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        if self.shuffle:
            order = randperm(size, generator=Generator().manual_seed(self.seed + self.epoch)).tolist()
        else:
            order = list(range(size))
        if order and not self.drop_last:  # repeated from the start until every replica has as many
            order *= math.ceil(self.total_size / size)
        return iter(order[: self.total_size][self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch
