"""PyTorch's `torch.utils.data._utils`, which programs reach into for the default collation and for what workers are told."""

from ...._homes import settle
from . import collate as collate

settle(__name__, {"fetch": ("_fetch",), "worker": ("_worker",)}, within=__package__.rpartition(".")[0])
