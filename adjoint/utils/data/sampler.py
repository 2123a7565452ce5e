"""Samplers: the order in which a loader takes samples. With the same seed the order is PyTorch's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np

from ... import _random
from ..._dtype import float64, int64
from ..._from_data import as_tensor
from ..._sampling import Generator, randint, randperm

T_co = TypeVar("T_co", covariant=True)
_BLOCK = 32  # how many indices with replacement PyTorch draws at a time


def random_seed(generator: Generator | None = None) -> int:
    """A seed drawn the way PyTorch draws it."""
    drawn = np.empty((), np.int64)
    _random.random(drawn, generator=generator)
    return int(drawn)


def _check_count(num_samples: Any) -> None:
    if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
        raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")


class Sampler(Generic[T_co]):
    """An order of indices (or of lists of them): subclasses write `__iter__`, and `__len__` where it is known."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("a Sampler needs __iter__")


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ..."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices in random order, each once; or, with `replacement`, each drawn from all of them."""

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Generator | None = None
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        _check_count(self.num_samples)

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        size, wanted = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            generator = Generator()
            generator.manual_seed(random_seed())
        if self.replacement:
            for _ in range(wanted // _BLOCK):
                yield from randint(high=size, size=(_BLOCK,), dtype=int64, generator=generator).tolist()
            yield from randint(high=size, size=(wanted % _BLOCK,), dtype=int64, generator=generator).tolist()
        else:
            for _ in range(wanted // size):
                yield from randperm(size, generator=generator).tolist()
            # Drawn even when nothing is left to yield: the generator must stand where PyTorch's does.
            yield from randperm(size, generator=generator).tolist()[: wanted % size]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for position in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[position]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with the given (relative) probabilities."""

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Generator | None = None
    ) -> None:
        _check_count(num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.ndim != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        yield from self.weights.multinomial(self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of another sampler in lists of `batch_size`."""

    def __init__(self, sampler: Iterable[Any], batch_size: Any, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        full, rest = divmod(len(self.sampler), self.batch_size)  # type: ignore[arg-type]
        return full + bool(rest and not self.drop_last)
