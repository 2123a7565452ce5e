"""PyTorch's `torch.distributed._composable`, where `fully_shard` was before."""

from .._homes import settle
from .fsdp import fully_shard

__all__ = ["fully_shard"]
__path__: list[str] = []

settle(__name__, {"fsdp": ("fsdp",), "fsdp.fully_shard": ("fsdp",), "fully_shard": ("fsdp",)}, within=__package__)
