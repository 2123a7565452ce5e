"""The type stub of Tensor's methods, as the registry gives it. `./dev lint` checks that the file is up to date."""

from __future__ import annotations

import ast

import pytest

from adjoint._methods import OpMethods
from tools import gen_stubs


@pytest.fixture(scope="module")
def methods():
    (cls,) = (node for node in ast.parse(gen_stubs.text()).body if isinstance(node, ast.ClassDef))
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
        ("add_", "def add_(self, other: Any, *, alpha: _float=1) -> Self:"),
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
