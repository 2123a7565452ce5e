"""DataLoader: batches of a dataset, in this process or in workers."""

from __future__ import annotations

import math
import multiprocessing
import multiprocessing.context
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any, Generic, TypeVar

from ..._events import LOADER_MADE
from ..._sampling import Generator
from ._collate import default_collate, default_convert
from ._fetch import DatasetKind as _DatasetKind
from ._iterators import LoaderIterator, MultiProcessIterator, SingleProcessIterator
from ._worker import get_worker_info
from .dataset import Dataset, IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)

_FIXED = frozenset({"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"})


# PyTorch's names, which libraries import.
_BaseDataLoaderIter = LoaderIterator
_SingleProcessDataLoaderIter = SingleProcessIterator
_MultiProcessingDataLoaderIter = MultiProcessIterator
_collate_fn_t = Callable[[list[Any]], Any]
_worker_init_fn_t = Callable[[int], None]


class _EndlessSampler(Sampler[None]):
    """The indices of a dataset that is a stream: there are none, and there is no end of them."""

    def __iter__(self) -> Iterator[None]:
        return repeat(None)


class DataLoader(Generic[T_co]):
    """Batches of a dataset.

    >>> import adjoint as ad
    >>> data = ad.utils.data.TensorDataset(ad.arange(5))
    >>> for (x,) in ad.utils.data.DataLoader(data, batch_size=2):
    ...     print(x)
    tensor([0, 1])
    tensor([2, 3])
    tensor([4])

    `num_workers` processes make batches ahead of time, `prefetch_factor` each. `pin_memory` is accepted and has no effect.
    """

    def __init__(
        self, dataset: Dataset[T_co], batch_size: int | None = 1, shuffle: bool | None = None, sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None, num_workers: int = 0, collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False, drop_last: bool = False, timeout: float = 0, worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None, generator: Generator | None = None, *, prefetch_factor: int | None = None,
        persistent_workers: bool = False, pin_memory_device: str = "", in_order: bool = True,
    ) -> None:  # fmt: skip
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        streamed = isinstance(dataset, IterableDataset)
        if streamed:
            _check_stream(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle: write shuffle=False, and shuffle in the sampler")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if streamed:
                sampler = _EndlessSampler()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)

        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self._dataset_kind = _DatasetKind.Iterable if streamed else _DatasetKind.Map
        self._IterableDataset_len_called: int | None = None  # the length that was announced
        self._kept: MultiProcessIterator | None = None
        self._initialized = True
        self.check_worker_number_rationality()
        if LOADER_MADE:
            LOADER_MADE.tell(self)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and "_initialized" in self.__dict__:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized: make a new loader instead"
            )
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            if not self.num_workers:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                    f"num_workers={self.num_workers}"
                )
            methods = multiprocessing.get_all_start_methods()
            if isinstance(context, str):
                if context not in methods:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                        f"multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start method, but got "
                    f"multiprocessing_context={context}"
                )
        self._multiprocessing_context = context

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> LoaderIterator:
        if self.num_workers == 0:
            return SingleProcessIterator(self)
        if not self.persistent_workers:
            return MultiProcessIterator(self)
        if self._kept is not None and self._kept.running:
            self._kept.restart()
        else:
            self._kept = MultiProcessIterator(self)
        return self._kept

    def __len__(self) -> int:
        """How many batches there are. For a stream this is what the dataset says of itself."""
        if self._dataset_kind != _DatasetKind.Iterable:
            return len(self._index_sampler)
        length: int = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is not None:
            length = length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)
        self._IterableDataset_len_called = length
        return length

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None}

    def check_worker_number_rationality(self) -> None:
        """Warn when there are more workers than processors."""
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if processors and self.num_workers > processors:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number of worker in current "
                f"system is {processors}, which is smaller than what this DataLoader is going to create: more workers than processors "
                "can slow the loading down.",
                stacklevel=3,
            )


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_stream(shuffle: bool | None, sampler: Any, batch_sampler: Any) -> None:
    start = "DataLoader with IterableDataset: expected unspecified"
    if shuffle:
        raise ValueError(f"{start} shuffle option, but got shuffle={shuffle}: a stream has no indices to shuffle")
    if sampler is not None:
        raise ValueError(f"{start} sampler option, but got sampler={sampler}")
    if batch_sampler is not None:
        raise ValueError(f"{start} batch_sampler option, but got batch_sampler={batch_sampler}")
