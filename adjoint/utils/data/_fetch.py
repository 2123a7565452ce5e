"""Taking the samples of one batch out of a dataset."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from ..._from_data import as_tensor
from ..._tensor import Tensor
from ._collate import default_collate
from .dataset import Subset, TensorDataset

Fetch = Callable[[Any], Any]


class DatasetKind:
    """Whether samples are asked for by their index, or come one after the other."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> Fetch:
        """The function from an index (or a list of them) to a batch. A stream that is at its end raises StopIteration."""
        make = _stream_fetcher if kind == DatasetKind.Iterable else _index_fetcher
        return make(dataset, batched, collate_fn, drop_last)


def _index_fetcher(dataset: Any, batched: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> Fetch:
    if not batched:
        return lambda index: collate_fn(dataset[index])
    if callable(getattr(dataset, "__getitems__", None)):

        def fetch(indices: Any) -> Any:
            return collate_fn(dataset.__getitems__(indices))
    else:

        def fetch(indices: Any) -> Any:
            return collate_fn([dataset[index] for index in indices])

    take_rows = _row_taker(dataset) if collate_fn is default_collate else None
    if take_rows is None:
        return fetch
    return lambda indices: (take_rows if all(type(index) is int for index in indices) else fetch)(indices)


def _row_taker(dataset: Any) -> Fetch | None:
    """For the rows of tensors, a batch is taken at once: the same values as rows that are taken one by one and put together."""
    if type(dataset) is Subset:
        places, take_rows = dataset.indices, _row_taker(dataset.dataset)
        return take_rows and (lambda indices: take_rows([places[index] for index in indices]))
    if type(dataset) is not TensorDataset or any(type(x) is not Tensor or x.requires_grad for x in dataset.tensors):
        return None
    return lambda indices: _rows(dataset.tensors, as_tensor(indices))


def _rows(tensors: tuple[Tensor, ...], indices: Tensor) -> list[Tensor]:
    return [x[indices] for x in tensors]


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
