"""PyTorch's `torch.version`."""

from ._version import __version__

__all__ = ["__version__", "cuda", "debug", "git_version", "hip"]

cuda: str | None = None
hip: str | None = None
debug = False
git_version = "unknown"
