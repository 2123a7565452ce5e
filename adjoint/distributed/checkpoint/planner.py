"""Who writes what, and who reads what. PyTorch's `torch.distributed.checkpoint.planner` and its default planners."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from math import prod
from typing import Any

from ..._creation import empty
from ..._serialization import load, save
from ..._size import Size
from ..._tensor import Tensor
from ..tensor._api import DTensor
from ..tensor.placement_types import compute_local_shape_and_global_offset
from ._nested import flatten_state_dict, set_element
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, MetadataIndex, TensorProperties, TensorStorageMetadata

__all__ = [
    "DefaultLoadPlanner", "DefaultSavePlanner", "LoadItemType", "LoadPlan", "LoadPlanner", "ReadItem", "SavePlan", "SavePlanner",
    "TensorWriteData", "WriteItem", "WriteItemType",
]  # fmt: skip


class WriteItemType(Enum):
    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class TensorWriteData:
    """A part of a tensor that is to be written."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Size


@dataclass(frozen=True)
class WriteItem:
    """One thing that a process writes."""

    index: MetadataIndex
    type: WriteItemType
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        return None if self.tensor_data is None else prod(self.tensor_data.chunk.sizes) * self.tensor_data.properties.dtype.itemsize


@dataclass(frozen=True)
class ReadItem:
    """One thing that a process reads: so much of a saved part, into so much of the part that it has."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Size
    storage_index: MetadataIndex
    storage_offsets: Size
    lengths: Size


@dataclass
class SavePlan:
    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None


@dataclass
class LoadPlan:
    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner:
    """Who writes what. A class of one's own derives from `DefaultSavePlanner`, or defines these."""

    def set_up_planner(self, state_dict: dict[str, Any], storage_meta: Any = None, is_coordinator: bool = False) -> None:
        raise NotImplementedError

    def create_local_plan(self) -> SavePlan:
        raise NotImplementedError

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        raise NotImplementedError

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        raise NotImplementedError

    def resolve_data(self, write_item: WriteItem) -> Any:
        raise NotImplementedError


class LoadPlanner:
    """Who reads what."""

    def set_up_planner(self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False) -> None:
        raise NotImplementedError

    def create_local_plan(self) -> LoadPlan:
        raise NotImplementedError

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        raise NotImplementedError

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        raise NotImplementedError

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        raise NotImplementedError

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        raise NotImplementedError

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        raise NotImplementedError


# ---- parts --------------------------------------------------------------------------------------------------------------------------


def chunk_of(value: Tensor) -> ChunkStorageMetadata:
    """The part of a tensor that this process has."""
    if not isinstance(value, DTensor):
        return ChunkStorageMetadata(Size([0] * value.ndim), value.shape)
    sizes, offsets = compute_local_shape_and_global_offset(value.shape, value.device_mesh, value.placements)
    return ChunkStorageMetadata(Size(offsets), Size(sizes))


def local_part(value: Tensor) -> Tensor:
    return value._local_tensor if isinstance(value, DTensor) else value.detach()


def overlap(saved: ChunkStorageMetadata, wanted: ChunkStorageMetadata) -> tuple[Size, Size, Size] | None:
    """What two parts have in common: where it begins in each of them, and its sizes."""
    starts = [max(a, b) for a, b in zip(saved.offsets, wanted.offsets, strict=True)]
    ends = [min(a + n, b + m) for a, n, b, m in zip(saved.offsets, saved.sizes, wanted.offsets, wanted.sizes, strict=True)]
    if any(end <= start for start, end in zip(starts, ends, strict=True)):
        return None
    in_saved = Size([start - first for start, first in zip(starts, saved.offsets, strict=True)])
    in_wanted = Size([start - first for start, first in zip(starts, wanted.offsets, strict=True)])
    return in_saved, in_wanted, Size([end - start for start, end in zip(starts, ends, strict=True)])


def narrowed(tensor: Tensor, offsets: Sequence[int], lengths: Sequence[int]) -> Tensor:
    for dim, (offset, length) in enumerate(zip(offsets, lengths, strict=True)):
        tensor = tensor.narrow(dim, offset, length)
    return tensor


# ---- saving -------------------------------------------------------------------------------------------------------------------------


class DefaultSavePlanner(SavePlanner):
    """Each process writes its parts; what all of them have is written by one, so that they write about as much. With
    `dedup_save_to_lowest_rank` that is the first one which has it."""

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False, enable_plan_caching: bool = False,
    ) -> None:  # fmt: skip
        if dedup_replicated_tensors is False:
            raise NotImplementedError("DefaultSavePlanner: adjoint writes what all processes have once; leave dedup_replicated_tensors out")
        self.flatten_state_dict, self.flatten_sharded_tensors = flatten_state_dict, flatten_sharded_tensors
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank
        self.mappings: dict[str, Any] = {}

    def set_up_planner(self, state_dict: dict[str, Any], storage_meta: Any = None, is_coordinator: bool = False) -> None:
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self) -> SavePlan:
        items = []
        for name, value in self.state_dict.items():
            if isinstance(value, Tensor):
                chunk = chunk_of(value)
                if prod(chunk.sizes) or not value.numel():
                    data = TensorWriteData(chunk, TensorProperties.create_from_tensor(value), value.shape)
                    kind = WriteItemType.SHARD if isinstance(value, DTensor) else WriteItemType.TENSOR
                    items.append(WriteItem(MetadataIndex(name, chunk.offsets), kind, data))
            elif self.is_coordinator:
                items.append(WriteItem(MetadataIndex(name), WriteItemType.BYTE_IO))
        self.plan = SavePlan(items, planner_data=self.mappings)
        return self.plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        owners: dict[MetadataIndex, list[int]] = {}
        for rank, plan in enumerate(all_plans):
            for item in plan.items:
                owners.setdefault(item.index, []).append(rank)
        load = [0] * len(all_plans)
        chosen: list[list[WriteItem]] = [[] for _ in all_plans]
        entries: dict[str, Any] = {}
        by_index = {item.index: item for plan in all_plans for item in plan.items}
        for index, item in by_index.items():
            data = item.tensor_data
            rank = owners[index][0] if self.dedup_save_to_lowest_rank else min(owners[index], key=load.__getitem__)
            load[rank] += item.tensor_storage_size() or 0
            if data is None:
                entries[index.fqn] = BytesStorageMetadata()
            else:
                entry = entries.setdefault(index.fqn, TensorStorageMetadata(data.properties, data.size, []))
                if entry.size != data.size:
                    raise ValueError(f"{index.fqn} has the shape {tuple(entry.size)} on one process and {tuple(data.size)} on another")
                item = replace(item, index=replace_index(index, len(entry.chunks)))
                entry.chunks.append(data.chunk)
            chosen[rank].append(item)
        mappings = {name: way for plan in all_plans for name, way in (plan.planner_data or {}).items()}
        plans = [replace(plan, items=items) for plan, items in zip(all_plans, chosen, strict=True)]
        return plans, Metadata(entries, mappings)

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        self.plan = new_plan
        return new_plan

    def lookup_object(self, index: MetadataIndex) -> Any:
        return self.state_dict[index.fqn]

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """What is written of an object: a file of `torch.save` for one that is no tensor."""
        if write_item.type is WriteItemType.BYTE_IO:
            content = io.BytesIO()
            save(object, content)
            return content
        return local_part(object)

    def resolve_data(self, write_item: WriteItem) -> Any:
        return self.transform_object(write_item, self.lookup_object(write_item.index))


def replace_index(index: MetadataIndex, place: int) -> MetadataIndex:
    return MetadataIndex(index.fqn, index.offset, place)


# ---- loading ------------------------------------------------------------------------------------------------------------------------


class DefaultLoadPlanner(LoadPlanner):
    """Each process reads what overlaps with its parts. With `allow_partial_load`, what the checkpoint lacks stays as it is."""

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False) -> None:
        self.flatten_state_dict, self.flatten_sharded_tensors = flatten_state_dict, flatten_sharded_tensors
        self.allow_partial_load = allow_partial_load
        self.mappings: dict[str, Any] = {}

    def set_up_planner(self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False) -> None:
        assert metadata is not None
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.metadata, self.is_coordinator = state_dict, metadata, is_coordinator

    def create_local_plan(self) -> LoadPlan:
        items: list[ReadItem] = []
        for name, value in self.state_dict.items():
            entry = self.metadata.state_dict_metadata.get(name)
            if entry is None:
                if not self.allow_partial_load:
                    raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
            elif isinstance(entry, TensorStorageMetadata) and isinstance(value, Tensor):
                if entry.size != value.shape:
                    raise ValueError(f"Size mismatch between saved {tuple(entry.size)} and current: {tuple(value.shape)} for {name}")
                items += self._of_tensor(name, entry, chunk_of(value))
            elif isinstance(entry, BytesStorageMetadata) and not isinstance(value, Tensor):
                index, nothing = MetadataIndex(name), Size([0])
                items.append(ReadItem(LoadItemType.BYTE_IO, index, nothing, index, nothing, nothing))
            else:
                raise ValueError(f"{name} is a tensor in the checkpoint or in the state dict, and something else in the other one")
        return LoadPlan(items)

    def _of_tensor(self, name: str, entry: TensorStorageMetadata, wanted: ChunkStorageMetadata) -> list[ReadItem]:
        items, count = [], 0
        for place, saved in enumerate(entry.chunks):
            if (common := overlap(saved, wanted)) is not None:
                in_saved, in_wanted, sizes = common
                source, target = MetadataIndex(name, saved.offsets, place), MetadataIndex(name, wanted.offsets)
                items.append(ReadItem(LoadItemType.TENSOR, target, in_wanted, source, in_saved, sizes))
                count += prod(sizes)
        if count != prod(wanted.sizes):
            raise ValueError(f"the checkpoint has {count} of the {prod(wanted.sizes)} elements of {name} that are wanted here")
        return items

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        return global_plan

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        name = read_item.dest_index.fqn
        found = load(value, weights_only=True)
        self.state_dict[name] = found
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[name], found)

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """Where what is read goes."""
        return narrowed(local_part(self.state_dict[read_item.dest_index.fqn]), read_item.dest_offsets, read_item.lengths)

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """It is there."""


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Fills an empty state dict with what the checkpoint has, or with what is below some keys."""

    def __init__(self, keys: Any = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.keys = keys

    def set_up_planner(self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False) -> None:
        assert metadata is not None and not state_dict
        for name, entry in metadata.state_dict_metadata.items():
            way = (metadata.planner_data or {}).get(name, (name,))
            if self.keys is None or name in self.keys or any(".".join(map(str, way[:n])) in self.keys for n in range(1, len(way) + 1)):
                value = empty(entry.size, dtype=entry.properties.dtype) if isinstance(entry, TensorStorageMetadata) else None
                set_element(state_dict, way, value)
        super().set_up_planner(state_dict, metadata, is_coordinator)
