"""PyTorch's `torch.utils.data.datapipes`: datasets made of others, step by step, as methods of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import partial
from itertools import chain
from typing import Any, ClassVar, TypeVar

from ...._homes import settle
from .._collate import default_collate
from ..dataset import Dataset, IterableDataset

T = TypeVar("T", bound=type)


class _Steps:
    """What pipes have in common: steps that were registered under a name are methods."""

    functions: ClassVar[dict[str, Callable[..., Any]]]

    def __getattr__(self, name: str) -> Any:
        if name in self.functions:
            return partial(self.functions[name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: Any, enable_df_api_tracing: bool = False) -> None:
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register


class IterDataPipe(_Steps, IterableDataset[Any]):
    """A dataset whose samples come one after the other: define `__iter__`."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def reset(self) -> None:
        """Begin anew. Nothing is kept between two runs unless a class keeps it."""


class MapDataPipe(_Steps, Dataset[Any]):
    """A dataset whose samples have an index: define `__getitem__` and `__len__`."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


class functional_datapipe:
    """A decorator that makes a class of pipes a method of all others. There are no pipes of data frames, which would be traced."""

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: T) -> T:
        if not issubclass(cls, IterDataPipe | MapDataPipe):
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe or MapDataPipe")
        cls.register_datapipe_as_function(self.name, cls)
        return cls


class IterableWrapperIterDataPipe(IterDataPipe):
    """The elements of an iterable."""

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable = iterable
        self.deepcopy = deepcopy

    def __iter__(self) -> Iterator[Any]:
        from copy import deepcopy

        yield from deepcopy(self.iterable) if self.deepcopy else self.iterable

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]


class _Step(IterDataPipe):
    """A pipe behind another one, as long as it."""

    def __init__(self, datapipe: Any) -> None:
        self.datapipe = datapipe

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("map")
class MapperIterDataPipe(_Step):
    """`fn` of each sample."""

    def __init__(self, datapipe: Any, fn: Callable[[Any], Any], input_col: Any = None, output_col: Any = None) -> None:
        if input_col is not None or output_col is not None:
            raise NotImplementedError("map: adjoint passes whole samples to fn; pick the columns in fn itself")
        super().__init__(datapipe)
        self.fn = fn

    def __iter__(self) -> Iterator[Any]:
        return map(self.fn, self.datapipe)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Each batch as tensors."""

    def __init__(self, datapipe: Any, conversion: Any = None, collate_fn: Callable[[Any], Any] | None = None) -> None:
        super().__init__(datapipe, collate_fn or conversion or default_collate)


@functional_datapipe("filter")
class FilterIterDataPipe(_Step):
    """The samples of which `filter_fn` is true."""

    def __init__(self, datapipe: Any, filter_fn: Callable[[Any], bool], input_col: Any = None) -> None:
        super().__init__(datapipe)
        self.filter_fn = filter_fn if input_col is None else lambda sample: filter_fn(sample[input_col])

    def __iter__(self) -> Iterator[Any]:
        return filter(self.filter_fn, self.datapipe)

    def __len__(self) -> int:
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")


@functional_datapipe("batch")
class BatcherIterDataPipe(_Step):
    """Lists of `batch_size` samples; the last may be shorter, unless `drop_last`."""

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Callable[[Any], Any] = list) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        super().__init__(datapipe)
        self.batch_size, self.drop_last, self.wrapper_class = batch_size, drop_last, wrapper_class

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        return len(self.datapipe) // self.batch_size if self.drop_last else -(-len(self.datapipe) // self.batch_size)


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(_Step):
    """The samples in a random order, taken from a buffer of `buffer_size` of them."""

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        if buffer_size <= 0:
            raise ValueError("buffer_size should be larger than 0")
        if unbatch_level:
            raise NotImplementedError("shuffle: adjoint shuffles samples as they come; call unbatch() before it")
        super().__init__(datapipe)
        self.buffer_size = buffer_size
        self._enabled = True
        self._seed: int | None = None

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        from ..sampler import random_seed

        numbers = random.Random(random_seed(None) if self._seed is None else self._seed)
        self._seed = None
        kept: list[Any] = []
        for sample in self.datapipe:
            if len(kept) < self.buffer_size:
                kept.append(sample)
                continue
            place = numbers.randrange(len(kept))
            kept[place], sample = sample, kept[place]
            yield sample
        while kept:
            yield kept.pop(numbers.randrange(len(kept)))


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe):
    """The samples of batches."""

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[Any]:
        samples: Iterable[Any] = self.datapipe
        for _ in range(self.unbatch_level):
            samples = chain.from_iterable(samples)
        yield from samples


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe):
    """The samples of several pipes, one pipe after the other."""

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.datapipes)

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class ZipperIterDataPipe(ConcaterIterDataPipe):
    """Tuples of a sample of each pipe."""

    def __iter__(self) -> Iterator[Any]:
        return zip(*self.datapipes)  # noqa: B905 (as long as the shortest)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))


class SHARDING_PRIORITIES(Enum):
    """The groups of workers among which samples are divided, in this order."""

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(_Step):
    """Every n-th sample, once `apply_sharding` has said of which worker. Groups divide what the ones before them have left; with
    `sharding_group_filter` only one of them counts."""

    def __init__(self, datapipe: Any, sharding_group_filter: SHARDING_PRIORITIES | None = None) -> None:
        super().__init__(datapipe)
        self.sharding_group_filter = sharding_group_filter
        self.groups: dict[SHARDING_PRIORITIES, tuple[int, int]] = {}
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(
        self, num_of_instances: int, instance_id: int, sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT
    ) -> None:
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        default = SHARDING_PRIORITIES.DEFAULT
        if any((group is default) != (sharding_group is default) for group in self.groups):
            raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        self.groups[sharding_group] = num_of_instances, instance_id
        self.num_of_instances, self.instance_id = 1, 0
        for group in sorted(self.groups, key=lambda group: group.value, reverse=True):
            if self.sharding_group_filter in (None, group):
                count, place = self.groups[group]
                self.instance_id += self.num_of_instances * place
                self.num_of_instances *= count

    def __iter__(self) -> Iterator[Any]:
        return (sample for place, sample in enumerate(self.datapipe) if place % self.num_of_instances == self.instance_id)

    def __len__(self) -> int:
        return len(range(self.instance_id, len(self.datapipe), self.num_of_instances))


IterableWrapper, Mapper, Collator, Filter = IterableWrapperIterDataPipe, MapperIterDataPipe, CollatorIterDataPipe, FilterIterDataPipe
Batcher, Shuffler, UnBatcher = BatcherIterDataPipe, ShufflerIterDataPipe, UnBatcherIterDataPipe
Concater, Zipper, ShardingFilter = ConcaterIterDataPipe, ZipperIterDataPipe, ShardingFilterIterDataPipe

settle(
    __name__,
    dict.fromkeys(
        ("_decorator", "datapipe", "iter", "iter.callable", "iter.combinatorics", "iter.combining", "iter.grouping", "iter.selecting",
         "iter.sharding", "iter.utils"),
        ("",),
    ),
)  # fmt: skip
