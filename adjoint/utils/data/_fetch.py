"""Taking the samples of one batch out of a dataset."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from .dataset import IterableDataset

Fetch = Callable[[Any], Any]


def fetcher(dataset: Any, batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> Fetch:
    """The function from an index (or a list of them) to a batch. A stream that is at its end raises StopIteration."""
    make = _stream_fetcher if isinstance(dataset, IterableDataset) else _index_fetcher
    return make(dataset, batched, collate_fn, drop_last)


def _index_fetcher(dataset: Any, batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> Fetch:
    if not batched:
        return lambda index: collate_fn(dataset[index])
    if callable(getattr(dataset, "__getitems__", None)):
        return lambda indices: collate_fn(dataset.__getitems__(indices))
    return lambda indices: collate_fn([dataset[index] for index in indices])


def _stream_fetcher(dataset: Any, batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> Fetch:
    stream = iter(dataset)
    ended = False

    def fetch_batch(indices: Any) -> Any:
        nonlocal ended
        if ended:
            raise StopIteration
        samples = list(islice(stream, len(indices)))
        ended = len(samples) < len(indices)
        if not samples or (ended and drop_last):
            raise StopIteration
        return collate_fn(samples)

    return fetch_batch if batched else lambda _: collate_fn(next(stream))
