"""Checkpoints in folders, in PyTorch's format: a file of tensors for each process, and `.metadata`, which is written last.

A checkpoint that is written over another one has files of other names. The one rename of `.metadata` makes the new one valid, and only
then are the files of the old one removed. So there is a whole checkpoint at every moment, whichever process is killed.
"""

from __future__ import annotations

import io
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from ..._serialization import load, save
from ..._tensor import Tensor
from ...futures import Future
from ._metadata_file import NAME, _StorageInfo, read_metadata, sync_folder, write_metadata
from .metadata import Metadata, MetadataIndex, StorageMeta
from .planner import LoadItemType, LoadPlan, LoadPlanner, SavePlan, SavePlanner, narrowed
from .storage import StorageReader, StorageWriter, WriteResult

__all__ = ["FileSystemReader", "FileSystemWriter", "SerializationFormat"]

_FILE = re.compile(r"__\d+_(\d+)\.distcp$")


class SerializationFormat(Enum):
    """How tensors are written. As `torch.save` does it is the one that there is here."""

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


@dataclass
class _Names:
    """How a process calls its files: `__RANK_NUMBER.distcp`, by numbers that no file has yet."""

    rank: int
    number: int

    def __iter__(self) -> Iterator[str]:
        number = self.number
        while True:
            yield f"__{self.rank}_{number}.distcp"
            number += 1


class FileSystemWriter(StorageWriter):
    """Writes a checkpoint into a folder that all processes see. One thread of each process writes, whatever `thread_count` says."""

    def __init__(
        self, path: str | os.PathLike[str], single_file_per_rank: bool = True, sync_files: bool = True, thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000, cache_staged_state_dict: bool = False, overwrite: bool = True, _extensions: Any = None,
        serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
    ) -> None:  # fmt: skip
        if _extensions or serialization_format is not SerializationFormat.TORCH_SAVE:
            raise NotImplementedError("FileSystemWriter: adjoint writes files as torch.save does; leave the format and extensions out")
        self.single_file_per_rank, self.sync_files, self.overwrite = single_file_per_rank, sync_files, overwrite
        self.reset(path)

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        if checkpoint_id is not None:
            self.path = Path(checkpoint_id)
        self.save_id = str(uuid.uuid4())

    @property
    def checkpoint_id(self) -> Path:
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        return "://" not in str(checkpoint_id)

    def storage_meta(self) -> StorageMeta:
        return StorageMeta(str(self.path), self.save_id)

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self.is_coordinator = is_coordinator

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / NAME).exists() and not self.overwrite:
            raise RuntimeError(f"Checkpoint already exists in {self.path} and overwrite=False.")
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Names of files that are new in the folder, also beside those of a writer that was killed."""
        used = [int(found[1]) for path in self.path.iterdir() if (found := _FILE.match(path.name))]
        for rank, plan in enumerate(plans):
            plan.storage_data = _Names(rank, max(used, default=-1) + 1)
        return plans

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write what a plan says. What has been written is on the disk then, and belongs to no checkpoint yet."""
        names = iter(plan.storage_data)
        batches = [plan.items] if self.single_file_per_rank else [[item] for item in plan.items]
        results: list[WriteResult] = []
        for items in filter(None, batches):
            name = next(names)
            with (self.path / name).open("xb") as file:
                for item in items:
                    start = file.tell()
                    data = planner.resolve_data(item)
                    if isinstance(data, io.BytesIO):
                        file.write(data.getbuffer())
                    else:
                        save(_by_itself(data), file)
                    results.append(WriteResult(item.index, file.tell() - start, _StorageInfo(name, start, file.tell() - start)))
                if self.sync_files:
                    file.flush()
                    os.fsync(file.fileno())
        made: Future[list[WriteResult]] = Future()
        made.set_result(results)
        return made

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        metadata.storage_data = {result.index: result.storage_data for some in results for result in some}
        metadata.storage_meta = self.storage_meta()
        sync_folder(self.path)
        write_metadata(self.path, metadata)
        kept = {place.relative_path for place in metadata.storage_data.values()}
        for path in list(self.path.iterdir()):
            if _FILE.match(path.name) and path.name not in kept:
                with suppress(FileNotFoundError):
                    path.unlink()


def _by_itself(tensor: Tensor) -> Tensor:
    """A tensor whose memory has nothing else in it, for that is what a file holds."""
    whole = tensor.is_contiguous() and tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
    return tensor if whole else tensor.contiguous().clone()


class FileSystemReader(StorageReader):
    """Reads a checkpoint in a folder, whoever has written it with however many processes."""

    def __init__(self, path: str | os.PathLike[str], _extension_registry: Any = None) -> None:
        if _extension_registry is not None:
            raise NotImplementedError("FileSystemReader: adjoint reads files as torch.save writes them; leave extensions out")
        self.storage_data: dict[MetadataIndex, _StorageInfo] = {}
        self.reset(path)

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        if checkpoint_id is not None:
            self.path = Path(checkpoint_id)
        self.load_id = str(uuid.uuid4())
        self.storage_data = {}

    @property
    def checkpoint_id(self) -> Path:
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        return "://" not in str(checkpoint_id)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        return read_metadata(self.path)

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self.storage_data = metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Read what a plan says, file by file in the order of each."""
        ordered = sorted(plan.items, key=lambda item: (self._place(item).relative_path, self._place(item).offset))
        name, file = None, None
        last: tuple[Any, Any] = (None, None)
        try:
            for item in ordered:
                place = self._place(item)
                if place.transform_descriptors:
                    raise NotImplementedError(f"{item.storage_index.fqn} was written through {place.transform_descriptors}")
                if place.relative_path != name:
                    if file is not None:
                        file.close()
                    name, file = place.relative_path, (self.path / place.relative_path).open("rb")
                assert file is not None
                if item.type is LoadItemType.BYTE_IO:
                    planner.load_bytes(item, _part(file, place))
                    continue
                if last[0] != place:
                    last = place, load(_part(file, place), map_location="cpu", weights_only=True)
                target = planner.resolve_tensor(item)
                if not target.is_meta:
                    target.copy_(narrowed(last[1], item.storage_offsets, item.lengths))
                planner.commit_tensor(item, target)
        finally:
            if file is not None:
                file.close()
        made: Future[None] = Future()
        made.set_result(None)
        return made

    def _place(self, item: Any) -> _StorageInfo:
        return self.storage_data[item.storage_index]


def _part(file: Any, place: _StorageInfo) -> io.BytesIO:
    file.seek(place.offset)
    content = file.read(place.length)
    if len(content) != place.length:
        raise EOFError(f"{file.name} is shorter than .metadata says: {place.length} bytes at {place.offset} are not all there")
    return io.BytesIO(content)
