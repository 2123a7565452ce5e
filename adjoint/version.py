"""PyTorch's `torch.version`."""

from ._version import __version__ as __version__

cuda: str | None = None
hip: str | None = None
debug = False
git_version = "unknown"
