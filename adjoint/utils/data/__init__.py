"""Datasets, samplers and the loader that makes batches of them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _utils as _utils
from ._collate import default_collate, default_convert
from ._worker import get_worker_info
from .dataloader import DataLoader
from .dataset import ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split
from .distributed import DistributedSampler
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

if TYPE_CHECKING:
    from .datapipes import IterDataPipe as IterDataPipe
    from .datapipes import MapDataPipe as MapDataPipe
    from .datapipes import functional_datapipe as functional_datapipe

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]


def __getattr__(name: str) -> Any:
    if name in ("datapipes", "graph_settings"):
        return import_module(f".{name}", __name__)
    if name in ("IterDataPipe", "MapDataPipe", "functional_datapipe"):
        return getattr(import_module(".datapipes", __name__), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
