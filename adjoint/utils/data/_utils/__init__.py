"""PyTorch's `torch.utils.data._utils`, which programs reach into for the default collation."""

from . import collate as collate
