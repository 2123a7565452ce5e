"""What a checkpoint consists of, as PyTorch's `torch.distributed.checkpoint.metadata` has it and as its file `.metadata` says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ..._layout import contiguous_format, layout, strided
from ..._layout import memory_format as MemoryFormat
from ..._size import Size
from ..._tensor import Tensor

__all__ = [
    "BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta", "TensorProperties", "TensorStorageMetadata",
]  # fmt: skip


@dataclass
class ChunkStorageMetadata:
    """A part of a tensor: where it begins, and its sizes."""

    offsets: Size
    sizes: Size


class _MEM_FORMAT_ENCODING(Enum):
    """How files name the orders of elements in memory. The contiguous one is all that is written here."""

    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


@dataclass
class TensorProperties:
    """What is the same for all parts of a tensor."""

    dtype: Any
    layout: layout = strided
    requires_grad: bool = False
    memory_format: MemoryFormat = contiguous_format
    pin_memory: bool = False

    def __getstate__(self) -> tuple[Any, ...]:
        return self.dtype, self.layout, self.requires_grad, _MEM_FORMAT_ENCODING(0), self.pin_memory

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype, self.layout, self.requires_grad, _, self.pin_memory = state
        self.memory_format = contiguous_format

    @staticmethod
    def create_from_tensor(tensor: Tensor) -> TensorProperties:
        return TensorProperties(tensor.dtype)


@dataclass
class TensorStorageMetadata:
    """A tensor: its properties, its shape, and the parts that it was saved in."""

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """Something that is no tensor."""


@dataclass
class StorageMeta:
    """Where and when a checkpoint was written."""

    checkpoint_id: Any = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """All of it: the entries of the state dict, where in the nested state dict each belongs, and where in the files it lies."""

    state_dict_metadata: dict[str, Any]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = "1.0.0"


@dataclass(frozen=True)
class MetadataIndex:
    """An entry, or a part of one: its name and where it begins. `index` is a hint at which part it is."""

    fqn: str
    offset: Size | None = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None) -> None:
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "offset", None if offset is None else Size(offset))
        object.__setattr__(self, "index", index)
