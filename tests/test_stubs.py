"""The type stubs: of Tensor's methods, as the registry gives them, and of the package. `./dev lint` checks that both are up to date."""

from __future__ import annotations

import ast
import doctest
import importlib
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import adjoint as ad
from adjoint import _reference as reference
from adjoint._compiled_members import use_compiled_members
from adjoint._methods import OpMethods
from tools import gen_stubs
from tools.reference import namespace

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def methods():
    """Made in a process of its own: functions that have been told of `__torch_function__` have less telling signatures."""
    code = "from tools import gen_stubs; print(gen_stubs.text(), end='')"
    text = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (cls,) = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name == "OpMethods")
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
    monkeypatch.setattr(gen_stubs, "MODULE_STUB", tmp_path / "__init__.pyi")
    assert gen_stubs.main(["--check"]) == 1
    assert "run python tools/gen_stubs.py" in capsys.readouterr().out
    assert gen_stubs.main([]) == 0
    assert gen_stubs.main(["--check"]) == 0


def test_modules_that_a_program_imports_are_not_the_packages():
    importlib.import_module("adjoint.cli")
    assert "cli" in dir(ad) and gen_stubs.main(["--check"]) == 0


def test_compiled_members_stand_for_those_in_python():
    use_compiled_members()
    assert gen_stubs.text() == gen_stubs.STUB.read_text(encoding="utf-8")


# ---- the package --------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def functions():
    """What the functions of the package return, by their names."""
    tree = ast.parse(gen_stubs.MODULE_STUB.read_text(encoding="utf-8"))
    made: dict[str, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            made.setdefault(node.name, set()).add(ast.unparse(node.returns))
    return made


def fits(value: object, kind: str) -> bool:
    if kind.startswith("_") and "__" in kind:
        return isinstance(value, tuple) and list(getattr(type(value), "__match_args__", ())) == kind[1:].split("__")
    kinds = {"Tensor": ad.Tensor, "_bool": bool, "_int": int, "Size": ad.Size, "_DType": ad.dtype, "None": type(None), "Any": object}
    return isinstance(value, kinds.get(kind, tuple))


def test_results_are_what_the_stub_says(functions):
    wrong = []
    for name, kinds in functions.items():
        entry = reference.entries().get(name)
        examples = doctest.DocTestParser().get_examples(entry[1].example) if entry else []
        if not examples or not examples[-1].source.startswith(f"ad.{name}("):
            continue
        known = namespace()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            for example in examples[:-1]:
                exec(example.source, known)
            call = ast.parse(examples[-1].source, mode="eval").body
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == name:
                value = eval(examples[-1].source, known)
                wrong += [] if any(fits(value, kind) for kind in kinds) else [(name, kinds, type(value))]
    assert wrong == []


def test_few_functions_return_anything(functions):
    """Those whose results depend on their arguments."""
    assert {name for name, kinds in functions.items() if "Any" in kinds} == {
        "atleast_1d", "atleast_2d", "atleast_3d", "lu", "nonzero", "unique", "unique_consecutive"
    }  # fmt: skip


def test_a_type_checker_reports_names_that_do_not_exist(tmp_path):
    package = tmp_path / "adjoint"
    package.mkdir()
    shutil.copy(gen_stubs.MODULE_STUB, package)
    (tmp_path / "program.py").write_text("import adjoint as ad\n\nad.tensr([1.0])\nad.sin(ad.pi)\nad.sin(1, 2)\n")
    command = [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--no-site-packages", "--cache-dir", "cache", "program.py"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert 'program.py:3: error: Module has no attribute "tensr"' in found
    assert "program.py:4" not in found
    assert 'program.py:5: error: Too many positional arguments for "sin"' in found
