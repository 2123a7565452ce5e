"""The type stub of Tensor's methods, as the registry gives it. `./dev lint` checks that the file is up to date."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from adjoint._methods import OpMethods
from tools import gen_stubs

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def methods():
    """Made in a process of its own: functions that have been told of `__torch_function__` have less telling signatures."""
    code = "from tools import gen_stubs; print(gen_stubs.text(), end='')"
    text = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (cls,) = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
    return {node.name: ast.unparse(node) for node in cls.body if isinstance(node, ast.FunctionDef)}


def test_every_method_is_in_the_stub(methods):
    wanted = {name for name, value in vars(OpMethods).items() if callable(value) or isinstance(value, property)}
    assert set(methods) == wanted


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("__add__", "def __add__(self, other: Any) -> Tensor:"),
        ("__iadd__", "def __iadd__(self, other: Any) -> Self:"),
        ("__neg__", "def __neg__(self) -> Tensor:"),
        ("exp", "def exp(self) -> Tensor:"),
        ("exp_", "def exp_(self) -> Self:"),
        ("add_", "def add_(self, other: Any, alpha: Any=1) -> Self:"),
        ("atan2", "def atan2(self, other: Any) -> Tensor:"),
        ("transpose", "def transpose(self, dim0: _int, dim1: _int) -> Tensor:"),
        ("unbind", "def unbind(self, dim: _int=0, *, axis: Any=...) -> tuple[Tensor, ...]:"),
        ("new_zeros", "def new_zeros(self, *args: Any, size: Any=None, "),
        ("numpy", "def numpy(self, *, force: _bool=False) -> Any:"),
        ("T", "@property\ndef T(self) -> Tensor:"),
    ],
)
def test_signatures(methods, name, start):
    assert methods[name].startswith(start)


def test_the_check_notices_a_stale_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(gen_stubs, "STUB", tmp_path / "_methods.pyi")
    assert gen_stubs.main(["--check"]) == 1
    assert "run python tools/gen_stubs.py" in capsys.readouterr().out
    assert gen_stubs.main([]) == 0
    assert gen_stubs.main(["--check"]) == 0
