from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from ..._site import Site
from ..events import array_of
from ..finding import NOTE
from ..reading import line_with
from ..rule import Rule

TIMES, LEAST = 2, 4
DRAWING = ("rng", "random", "randn", "rand(", "generator", "normal")


class WorkerSeed(Rule):
    """Several workers of a DataLoader give the same samples: each began with a copy of one random generator."""

    name = "worker-seed"
    grade = NOTE

    def start(self) -> None:
        self.made: dict[int, Site] = {}
        self.seen: dict[int, list[int]] = {}
        self.times: dict[int, int] = {}

    def loader_made(self, loader: Any, site: Site) -> None:
        self.made[id(loader)] = site

    def batch(self, loader: Any, batch: Any, site: Site) -> None:
        if loader.num_workers < 2:
            return
        first = next((data for x in flattened(batch) if (data := array_of(x)) is not None and data.dtype.kind == "f"), None)
        if first is None or first.size < LEAST or np.all(first == first.reshape(-1)[0]):
            return
        key, mark = id(loader), zlib.crc32(np.ascontiguousarray(first).view(np.uint8).reshape(-1).data)
        recent = self.seen.setdefault(key, [])
        if mark in recent[-loader.num_workers + 1 :]:
            self.times[key] = self.times.get(key, 0) + 1
            if self.times[key] >= TIMES:
                self.report(
                    f"{loader.num_workers} workers give the same samples: they share the state of one random generator",
                    "make the generator in worker_init_fn, seeded by get_worker_info().seed, or draw from torch's generator",
                    {"loader": self.made.get(key, site), "drawn": drawing_line(loader.dataset)},
                    key,
                    equal_batches=self.times[key],
                )
        recent.append(mark)
        del recent[:-16]


def flattened(batch: Any) -> list[Any]:
    if isinstance(batch, dict):
        batch = list(batch.values())
    return [one for x in batch for one in flattened(x)] if isinstance(batch, list | tuple) else [batch]


def drawing_line(dataset: Any) -> Site | None:
    """The line of `__getitem__` that draws random numbers."""
    return next((site for word in DRAWING if (site := line_with(type(dataset).__getitem__, word)) is not None), None)
