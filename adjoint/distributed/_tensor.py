"""The old name of PyTorch's `torch.distributed.tensor`."""

from .._homes import settle
from .tensor import *  # noqa: F403

__path__: list[str] = []

settle(
    __name__,
    {name: ("tensor", "tensor.parallel") for name in ("api", "device_mesh", "experimental", "parallel", "placement_types")},
    within=__package__,
)
