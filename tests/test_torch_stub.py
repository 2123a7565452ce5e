"""The distribution named torch: what is in its wheel, where it may be installed, and that nothing stays behind when it is removed."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.metadata
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

from adjoint import cli
from adjoint._place import FOLDER, VERSION
from adjoint.cli import torch_stub

ROOT = Path(__file__).resolve().parent.parent


def test_the_wheel_says_what_it_is(tmp_path, capsys):
    assert cli.main(["install-torch-stub", "--wheel", str(tmp_path / "wheels")]) == 0
    path = Path(capsys.readouterr().out.strip())
    with zipfile.ZipFile(path) as wheel:
        content = {name: wheel.read(name) for name in wheel.namelist()}
    info = f"torch-{VERSION}.dist-info"
    metadata = content[f"{info}/METADATA"].decode()
    assert f"Name: torch\nVersion: {VERSION}\nSummary: Not PyTorch" in metadata and "Requires-Dist: adjoint\n" in metadata
    assert {name for name in content if not name.startswith(info)} == {"torch/__init__.py", "functorch/__init__.py"}
    rows = {row[0]: row[1:] for row in csv.reader(content[f"{info}/RECORD"].decode().splitlines())}
    assert set(rows) == set(content) and rows.pop(f"{info}/RECORD") == ["", ""]
    for name, (digest, size) in rows.items():
        expected = base64.urlsafe_b64encode(hashlib.sha256(content[name]).digest()).rstrip(b"=").decode()
        assert (digest, size) == (f"sha256={expected}", str(len(content[name])))
    assert torch_stub.write_wheel(str(tmp_path / "again")).read_bytes() == path.read_bytes()


class Other(importlib.metadata.Distribution):
    """PyTorch, as pip knows it."""

    def read_text(self, filename):
        return "Name: torch\nVersion: 2.9.1+cpu\nSummary: Tensors and Dynamic neural networks\n" if filename == "METADATA" else None

    def locate_file(self, path):
        return Path("/site-packages") / path


def test_pytorch_is_left_alone(monkeypatch, capsys):
    monkeypatch.setattr(torch_stub, "distributions", lambda name: [Other()])
    monkeypatch.setattr(torch_stub, "_pip", lambda *arguments: pytest.fail("pip is asked"))
    assert cli.main(["install-torch-stub"]) == 1
    said = capsys.readouterr().err
    assert "PyTorch 2.9.1+cpu is installed here" in said and "`python -m adjoint run` needs no stand-in" in said
    assert cli.main(["install-torch-stub", "--uninstall"]) == 1
    assert "the torch 2.9.1+cpu that is installed here is PyTorch, not the stand-in: it stays" in capsys.readouterr().err


def test_a_torch_without_metadata_is_left_alone_too(monkeypatch, tmp_path, capsys):
    (tmp_path / "torch.py").write_text("", encoding="utf-8")
    monkeypatch.setattr(torch_stub, "distributions", lambda name: [])
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    assert cli.main(["install-torch-stub"]) == 1
    assert f"there is a torch already, in {tmp_path / 'torch.py'}" in capsys.readouterr().err


def test_the_folder_of_run_is_no_installation(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    found = torch_stub.installed()
    assert found is None or Path(str(found.locate_file(""))) != FOLDER


@pytest.fixture
def environment(tmp_path):
    """An environment with pip, NumPy and adjoint, which are linked into it, and without PyTorch."""
    folder = tmp_path / "env"
    venv.create(folder, with_pip=True, symlinks=True)
    site = next((folder / "lib").glob("python*")) / "site-packages"
    numpy = Path(np.__file__).parent
    for path in [numpy, *numpy.parent.glob("numpy.libs"), *numpy.parent.glob("numpy-*.dist-info"), ROOT / "adjoint"]:
        (site / path.name).symlink_to(path)
    info = site / "adjoint-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: adjoint\nVersion: 0.1.0\nRequires-Dist: numpy\n", encoding="utf-8")

    def python(*arguments):
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [str(folder / "bin" / "python"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=clean)

    return site, python


def test_installed_and_removed(environment):
    site, python = environment
    before = {path.name for path in site.iterdir()}
    done = python("-m", "adjoint", "install-torch-stub")
    assert done.returncode == 0 and f"installed torch {VERSION}, which is not PyTorch but a stand-in" in done.stdout, done.stderr
    assert "is installed here already" in python("-m", "adjoint", "install-torch-stub").stdout
    program = "import functorch, torch.nn as nn, torch; print(torch.__name__, torch.__version__, nn.Linear, functorch.__name__)"
    assert python("-c", program).stdout == f"torch {VERSION} <class 'torch.nn.modules.linear.Linear'> functorch\n"
    wanted = ["torch>=1.11", "torch==2.13.*", "torch<3,!=2.0.1", f"torch=={VERSION}"]
    done = python("-m", "pip", "install", "--no-index", "--disable-pip-version-check", *wanted)
    assert done.returncode == 0 and "already satisfied: torch>=1.11" in done.stdout and "installed torch" not in done.stdout, done.stderr
    assert python("-m", "pip", "check").stdout == "No broken requirements found.\n"
    assert "Summary: Not PyTorch: a stand-in" in python("-m", "pip", "show", "torch").stdout
    done = python("-m", "adjoint", "install-torch-stub", "--uninstall")
    assert done.stdout == f"removed the stand-in for torch {VERSION}\n", done.stderr
    assert {path.name for path in site.iterdir()} == before
    assert "No module named 'torch'" in python("-c", "import torch").stderr
    assert python("-m", "adjoint", "install-torch-stub", "--uninstall").stdout == "there is no torch here to uninstall\n"
