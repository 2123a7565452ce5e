"""PyTorch's `torch.hub`, which adjoint does not have: programs can import it, and are told when they call it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ._standing import refused

_directory: list[str] = []


def get_dir() -> str:
    """The directory in which PyTorch keeps what it downloads."""
    if _directory:
        return _directory[0]
    home = os.environ.get("TORCH_HOME") or Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "torch"
    return str(Path(home).expanduser() / "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    _directory[:] = [str(Path(d).expanduser())]


_no_downloads = refused("adjoint does not download anything; fetch the weights yourself, and write model.load_state_dict(torch.load(path))")


@_no_downloads
def load(repo_or_dir: str, model: str, *args: Any, **kwargs: Any) -> Any: ...


@_no_downloads
def load_state_dict_from_url(url: str, *args: Any, **kwargs: Any) -> Any: ...


@_no_downloads
def download_url_to_file(url: str, dst: str, *args: Any, **kwargs: Any) -> None: ...
