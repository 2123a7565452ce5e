"""PyTorch's `torch.hub`: models from a directory, and weights from files that are on this machine. Nothing is downloaded."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlparse

from ._serialization import load as _load
from .serialization import MAP_LOCATION

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # the beginning of a file's hash in its name: resnet18-f37072fd.pth
ENV_TORCH_HOME, ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR = "TORCH_HOME", "XDG_CACHE_HOME", "~/.cache"
MODULE_HUBCONF, VAR_DEPENDENCY = "hubconf.py", "dependencies"
READ_DATA_CHUNK = 128 * 1024

list_ = list  # `list` is a function of this module
_directory: list_[str] = []


def _get_torch_home() -> str:
    """The directory in which PyTorch keeps what it downloads."""
    home = os.environ.get(ENV_TORCH_HOME) or str(Path(os.environ.get(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)) / "torch")
    return str(Path(home).expanduser())


def get_dir() -> str:
    """The part of it for models and weights."""
    return _directory[0] if _directory else str(Path(_get_torch_home()) / "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    _directory[:] = [str(Path(d).expanduser())]


# ---- weights ------------------------------------------------------------------------------------------------------------------------


def load_state_dict_from_url(
    url: str, model_dir: str | None = None, map_location: MAP_LOCATION = None, progress: bool = True, check_hash: bool = False,
    file_name: str | None = None, weights_only: bool = False,
) -> Any:  # fmt: skip
    """What is in the file of a URL, which has to be in `model_dir` already, or to be a file of this machine (`file://`)."""
    folder = Path(model_dir or Path(get_dir()) / "checkpoints")
    name = file_name or Path(urlparse(url).path).name
    kept = folder / name
    if not kept.exists():
        found = HASH_REGEX.search(name) if check_hash else None
        folder.mkdir(parents=True, exist_ok=True)
        download_url_to_file(url, str(kept), found.group(1) if found else None, progress)
    return _load(kept, map_location=map_location, weights_only=weights_only)


def download_url_to_file(url: str, dst: str | os.PathLike[str], hash_prefix: str | None = None, progress: bool = True) -> None:
    """Copy the file that a URL names. Only files of this machine are copied, at once and without a bar of `progress`; from others nothing
    is downloaded."""
    parts = urlparse(url)
    if parts.scheme not in ("file", ""):
        raise NotImplementedError(
            f"adjoint does not download weights ({url}); fetch the file yourself and put it at {dst}, where it is looked for first"
        )
    source = Path(unquote(parts.path))
    if hash_prefix is not None:
        digest = hashlib.sha256(source.read_bytes()).hexdigest()
        if not digest.startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest}")')
    shutil.copyfile(source, dst)


# ---- models -------------------------------------------------------------------------------------------------------------------------


def _directory_of(repo_or_dir: str | os.PathLike[str], source: str) -> Path:
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise NotImplementedError(
            f"adjoint does not download models ({repo_or_dir}); clone the repository, and write "
            "torch.hub.load(directory, ..., source='local')"
        )
    folder = Path(repo_or_dir)
    if not (folder / MODULE_HUBCONF).is_file():
        raise FileNotFoundError(f"there is no {folder / MODULE_HUBCONF}")
    return folder


@contextmanager
def _importing_from(folder: Path) -> Iterator[ModuleType]:
    """The module `hubconf` of a directory, which may import what lies beside it."""
    sys.path.insert(0, str(folder))
    try:
        spec = spec_from_file_location(MODULE_HUBCONF, folder / MODULE_HUBCONF)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(folder))


def _entry(module: ModuleType, model: str) -> Callable[..., Any]:
    from importlib.util import find_spec

    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    missing = [name for name in getattr(module, VAR_DEPENDENCY, ()) if find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    found = getattr(module, model, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found  # type: ignore[no-any-return]


def load(
    repo_or_dir: str | os.PathLike[str], model: str, *args: Any, source: str = "github", trust_repo: Any = "check",
    force_reload: bool = False, verbose: bool = True, skip_validation: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """The model that a function of a directory's `hubconf.py` makes: `load(directory, "name", source="local")`. The options are about
    repositories on GitHub (whether to trust, check and fetch them anew), and mean nothing for a directory, as in PyTorch."""
    with _importing_from(_directory_of(repo_or_dir, source.lower())) as module:
        return _entry(module, model)(*args, **kwargs)


def list(
    github: str | os.PathLike[str], force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check",
    verbose: bool = True,
) -> list_[str]:  # fmt: skip
    """The functions of a directory's `hubconf.py`. Repositories on GitHub, which the options are about, are not downloaded."""
    with _importing_from(_directory_of(github, "local" if Path(github).is_dir() else "github")) as module:
        return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


def help(
    github: str | os.PathLike[str], model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check"
) -> str | None:
    """The docstring of one of them."""
    with _importing_from(_directory_of(github, "local" if Path(github).is_dir() else "github")) as module:
        return _entry(module, model).__doc__


def __getattr__(name: str) -> Any:
    if name == "tqdm":  # PyTorch's is tqdm's, where it is installed
        from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

        return tqdm
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
