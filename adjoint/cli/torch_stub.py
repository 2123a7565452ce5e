"""`python -m adjoint install-torch-stub`: a distribution named torch, so that pip is content with adjoint.

Packages that require torch make pip fetch PyTorch, unless a distribution of that name is there. This one holds its metadata and the two
modules in `_place/distribution` that make way for adjoint. pip installs it, from a wheel that is made here, and pip removes it.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from importlib.util import find_spec
from pathlib import Path

from .._place import FOLDER, VERSION

NAME = f"torch-{VERSION}-py3-none-any.whl"
_WHEEL = "Wheel-Version: 1.0\nGenerator: adjoint\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
_SUMMARY = "Not PyTorch:"  # how the stub's own summary begins


class RefusedError(Exception):
    """Why nothing was done, and what to do instead."""


def install() -> str:
    """Install the stub into this environment, and say what was done."""
    present = installed()
    if present is not None and is_stub(present):
        return f"the stand-in for torch is installed here already, in {present.locate_file('')}"
    _refuse_beside_pytorch(present)
    try:
        distribution("adjoint")
    except PackageNotFoundError:
        raise RefusedError(
            f"adjoint itself is not installed in this environment, it is only found in {FOLDER.parents[2]}: install it there first"
        ) from None
    with tempfile.TemporaryDirectory() as folder:
        wheel = write_wheel(folder)
        _pip("install", "--quiet", "--no-deps", "--no-index", str(wheel))
    return (
        f"installed torch {VERSION}, which is not PyTorch but a stand-in: `import torch` gives adjoint, and pip fetches no PyTorch for "
        "packages that require it. `python -m adjoint install-torch-stub --uninstall` removes it, as `pip uninstall torch` does"
    )


def uninstall() -> str:
    """Remove the stub, and nothing else."""
    present = installed()
    if present is None:
        return "there is no torch here to uninstall"
    if not is_stub(present):
        raise RefusedError(f"the torch {present.version} that is installed here is PyTorch, not the stand-in: it stays")
    _pip("uninstall", "--quiet", "--yes", "torch")
    return f"removed the stand-in for torch {VERSION}"


def write_wheel(folder: str) -> Path:
    """The stub as a wheel, for an index or a cache of wheels of your own."""
    target = Path(folder) / NAME
    target.parent.mkdir(parents=True, exist_ok=True)
    content = {
        path.relative_to(FOLDER).as_posix(): path.read_bytes()
        for path in sorted(FOLDER.rglob("*")) if path.is_file() and path.suffix != ".pyc"
    }  # fmt: skip
    info = f"torch-{VERSION}.dist-info"
    content[f"{info}/WHEEL"] = _WHEEL.encode()
    rows = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in content.items()]
    content[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in content.items():
            wheel.writestr(zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0)), data)  # the same bytes whenever it is made
    return target


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def installed() -> Distribution | None:
    """The distribution named torch of this environment, not the one that processes under `run` find."""
    return next((found for found in distributions(name="torch") if Path(str(found.locate_file(""))) != FOLDER), None)


def is_stub(found: Distribution) -> bool:
    return str(found.metadata["Summary"]).startswith(_SUMMARY)


def _refuse_beside_pytorch(present: Distribution | None) -> None:
    where = ""
    if present is not None:
        where = f"PyTorch {present.version} is installed here"
    elif "torch" not in sys.modules and (spec := find_spec("torch")) is not None:
        where = f"there is a torch already, in {spec.origin}"
    if where:
        raise RefusedError(
            f"{where}, and the stand-in would take its place. `python -m adjoint run` needs no stand-in and leaves PyTorch alone; "
            "for an environment without PyTorch, make a new one, or run `pip uninstall torch` first"
        )


def _pip(*arguments: str) -> None:
    if find_spec("pip") is None:
        raise RefusedError(
            f"there is no pip in this environment; write the wheel with `python -m adjoint install-torch-stub --wheel FOLDER`, and "
            f"let your installer take {NAME} from there, without its dependencies"
        )
    done = subprocess.run([*_PIP, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RefusedError(f"pip {arguments[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
