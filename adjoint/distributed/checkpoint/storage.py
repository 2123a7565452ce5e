"""What writes and reads checkpoints. PyTorch's `torch.distributed.checkpoint.storage`; `filesystem` has the one that folders are for."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from .metadata import Metadata, MetadataIndex, StorageMeta
from .planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]


@dataclass(frozen=True)
class WriteResult:
    """Where something was written."""

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(ABC):
    """Writes what planners say."""

    @abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None: ...

    @abstractmethod
    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None: ...

    @abstractmethod
    def prepare_local_plan(self, plan: SavePlan) -> SavePlan: ...

    @abstractmethod
    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]: ...

    @abstractmethod
    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Any:
        """A future of the results."""

    @abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Make what all processes have written a checkpoint; one process is asked."""

    def storage_meta(self) -> StorageMeta | None:
        return None


class StorageReader(ABC):
    """Reads what planners say."""

    @abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None: ...

    @abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata: ...

    @abstractmethod
    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None: ...

    @abstractmethod
    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan: ...

    @abstractmethod
    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]: ...

    @abstractmethod
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Any:
        """A future that is done when all is there."""
