"""Being torch: `adjoint.as_torch()`, `import adjoint.as_torch` and `python -m adjoint run`, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from adjoint._place import VERSION
from adjoint.torch_version import TorchVersion

ROOT = Path(__file__).resolve().parent.parent


def python(*arguments, cwd=None, **environment):
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=cwd or ROOT, env=clean | environment
    )


def printed(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


ANSWERS = """
import copy, importlib.metadata, importlib.util, inspect, pickle, sys, typing
import torch
import torch.nn as nn
from torch.nn.modules.conv import Conv2d
import functorch

answers = {
    "name": (torch.__name__, nn.__name__, nn.functional.__name__, torch.utils.data.__name__),
    "same": torch.torch is torch and sys.modules["torch.nn"] is nn is sys.modules["adjoint.nn"] and Conv2d is nn.Conv2d,
    "functorch": functorch is sys.modules["adjoint.functorch"] and functorch.vmap is torch.func.vmap,
    "version": (str(torch.__version__), torch.__version__ >= (2, 9), torch.version.__version__ == torch.__version__),
    "metadata": (importlib.metadata.version("torch"), set(importlib.metadata.packages_distributions()["torch"]) == {"torch"}),
    "spec": [importlib.util.find_spec(name) is not None for name in ("torch", "torch.nn.modules.rnn", "torch.signal.windows", "torch.tea")],
    "file": (torch.__file__, list(torch.__path__)),
    "hints": [typing.get_type_hints(cls) is None for cls in (nn.Module, nn.Linear, torch.Tensor, torch.optim.SGD)],
    "source": inspect.getsource(nn.Conv2d).partition("(")[0],
    "module": inspect.getmodule(nn.Linear) is sys.modules["torch.nn.modules.linear"],
    "pickle": [str(pickle.loads(pickle.dumps(what))) for what in (nn.ReLU(), nn.Flatten)],
    "copy": str(copy.deepcopy(nn.Identity())),
    "functions": [f.__module__ for f in (torch.relu, torch.zeros, nn.functional.max_pool2d, nn.functional.mse_loss, nn.init.zeros_)],
}
"""
EXPECTED = {
    "name": ["torch", "torch.nn", "torch.nn.functional", "torch.utils.data"],
    "same": True,
    "functorch": True,
    "version": [VERSION, True, True],
    "metadata": [VERSION, True],
    "spec": [True, True, True, False],
    "file": [str(ROOT / "adjoint" / "__init__.py"), [str(ROOT / "adjoint")]],
    "hints": [False] * 4,
    "source": "class Conv2d",
    "module": True,
    "pickle": ["ReLU()", "<class 'torch.nn.modules.flatten.Flatten'>"],
    "copy": "Identity()",
    "functions": ["torch", "torch", "torch.nn.functional", "torch.nn.functional", "torch.nn.init"],
}


@pytest.mark.parametrize("way", ["import adjoint as a; a.as_torch()", "import adjoint.as_torch", "import adjoint.as_torch as a; a()"])
def test_torch_answers_as_libraries_expect(way):
    done = python("-c", f"{way}\n{ANSWERS}\nimport json; print(json.dumps(answers))")
    assert json.loads(printed(done)[0]) == EXPECTED


def test_run_answers_the_same(tmp_path):
    (tmp_path / "script.py").write_text(f"{ANSWERS}\nimport json; print(json.dumps(answers))", encoding="utf-8")
    done = python("-m", "adjoint", "run", tmp_path / "script.py")
    assert json.loads(printed(done)[0]) == EXPECTED


def test_a_torch_that_is_loaded_already_is_left_alone():
    code = "import sys, types, adjoint; sys.modules['torch'] = types.ModuleType('torch'); adjoint.as_torch()"
    done = python("-c", code)
    assert "RuntimeError: torch is loaded in this process already, from nowhere" in done.stderr
    assert "before anything imports torch" in done.stderr


def test_adjoint_answers_although_a_pytorch_is_installed(tmp_path):
    (tmp_path / "torch.py").write_text("raise AssertionError('PyTorch is loaded')", encoding="utf-8")
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import torch; print(torch.nn.__name__)'])"
    done = python("-m", "adjoint", "run", "-c", f"import torch; print(torch.__name__, flush=True); {child}", PYTHONPATH=str(tmp_path))
    assert printed(done) == ["torch", "torch.nn"]


def test_looking_at_the_name_changes_nothing():
    done = python("-c", "import sys, adjoint; adjoint.as_torch, dir(adjoint); print('torch' in sys.modules)")
    assert printed(done) == ["False"]


@pytest.mark.parametrize(
    ("version", "other", "order"),
    [
        ("2.13.0", "2.13", 0), ("2.13.0", (2, 13), 0), ("2.13.0", "2.2", 1), ("2.13.0", "2.13.1", -1), ("2.13.0+cpu", "2.13.0", 1),
        ("2.13.0", "2.13.0a0", 1), ("2.13.0.dev20250101", "2.13.0", -1), ("2.13.0rc1", "2.13.0b3", 1), ("2.13.0", [3], -1),
        ("2.13.0.post1", "2.13.0", 1),
    ],
)  # fmt: skip
def test_versions_compare_by_their_numbers(version, other, order):
    made = TorchVersion(version)
    assert [made < other, made == other, made > other] == [order < 0, order == 0, order > 0]
    assert [made <= other, made != other, made >= other] == [order <= 0, order != 0, order >= 0]
    assert hash(made) == hash(version) and isinstance(made, str)


# ---- the processes that a program starts --------------------------------------------------------------------------------------------

CHILDREN = """
import subprocess, sys
import torch
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        import torch
        return torch.full((2,), float(i)), f"{torch.__name__} {torch.nn.Linear.__module__}"

if __name__ == "__main__":
    for way in ("fork", "spawn", "forkserver"):
        loader = DataLoader(Numbers(), batch_size=2, num_workers=1, multiprocessing_context=way)
        print(way, *[(x.sum().item(), names) for x, names in loader])
    child = "import importlib.metadata, torch; print(torch.__name__, torch.__version__, importlib.metadata.version('torch'))"
    grandchild = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    subprocess.run([sys.executable, "-c", grandchild], cwd="/")
"""


def test_processes_that_a_program_starts_are_torch_too(tmp_path):
    (tmp_path / "script.py").write_text(CHILDREN, encoding="utf-8")
    done = python("-m", "adjoint", "run", tmp_path / "script.py", PYTHONUNBUFFERED="1")
    worker = "(2.0, ('torch torch.nn.modules.linear', 'torch torch.nn.modules.linear'))"
    assert printed(done) == [*(f"{way} {worker}" for way in ("fork", "spawn", "forkserver")), f"torch {VERSION} {VERSION}"]


def test_nothing_stays_behind():
    """The place is taken by what processes inherit, and so it ends with them."""
    before = sorted((ROOT / "adjoint").glob("_place/**/*.py"))
    printed(python("-m", "adjoint", "run", "-c", "import torch"))
    assert sorted((ROOT / "adjoint").glob("_place/**/*.py")) == before
    done = python("-S", "-c", "import torch")
    assert done.stderr.endswith("ModuleNotFoundError: No module named 'torch'\n")


def test_another_python_looks_for_a_torch_of_its_own(tmp_path):
    (tmp_path / "torch.py").write_text("print('PyTorch')", encoding="utf-8")
    pretend = "import os, subprocess, sys, torch; os.environ['ADJOINT_AS_TORCH'] = 'elsewhere'"
    code = f"{pretend}; subprocess.run([sys.executable, '-c', 'import torch'])"
    assert printed(python("-m", "adjoint", "run", "-c", code, PYTHONPATH=str(tmp_path))) == ["PyTorch"]


TESTS = """
import subprocess, sys
import torch

def test_torch():
    assert torch.__name__ == "torch" and "adjoint" in sys.modules

def test_child():
    command = [sys.executable, "-c", "import torch; print(torch.nn.__name__)"]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "torch.nn\\n"

def test_missing():
    torch.brew_tea()
"""


@pytest.mark.parametrize("way", ["-m pytest -p adjoint.as_torch -n 2", "-m adjoint run -m pytest -n 1"])
def test_pytest_with_workers(tmp_path, way):
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf-8")
    done = python(*way.split(), "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, "test_it.py", cwd=tmp_path, PYTHONPATH=str(ROOT))
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "module 'torch' has no attribute 'brew_tea'" in done.stdout
    assert ("adjoint has no torch.brew_tea yet" in done.stdout) is ("adjoint.as_torch" in way)


# ---- what can be run ----------------------------------------------------------------------------------------------------------------


def test_run_a_module_and_code(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("", encoding="utf-8")
    program = "import sys, torch; print(__name__, __package__, sys.argv[1:], torch.__name__)"
    (tmp_path / "package" / "work.py").write_text(program, encoding="utf-8")
    run = ["-m", "adjoint", "run"]
    assert printed(python(*run, "-m", "package.work", "-x", cwd=tmp_path, PYTHONPATH=str(ROOT))) == ["__main__ package ['-x'] torch"]
    assert printed(python(*run, "-c", "import sys, torch; print(__name__, sys.argv)", "-h")) == ["__main__ ['-c', '-h']"]
    assert printed(python(*run, "-m", "torch.utils.collect_env"))[0].startswith("Collecting")
    assert printed(python(*run, "-c", "raise SystemExit(0)")) == []


def notebook(path, *cells):
    made = [{"cell_type": "code", "source": text.splitlines(keepends=True)} for text in cells]
    path.write_text(json.dumps({"nbformat": 4, "cells": [{"cell_type": "markdown", "source": "# Title"}, *made]}), encoding="utf-8")
    return path


def test_run_a_notebook(tmp_path):
    first, second = "%matplotlib inline\nimport torch\nx = torch.ones(2)", "%%time\nif True:\n    %time y = x + 1\ny"
    path = notebook(tmp_path / "book.ipynb", first, second, "print(y.sum().item());None")
    assert printed(python("-m", "adjoint", "run", path)) == ["tensor([2., 2.])", "4.0"]


def test_a_traceback_begins_in_the_program(tmp_path):
    (tmp_path / "run.py").write_text("def f():\n    raise KeyError('x')\nf()", encoding="utf-8")
    done = python("-m", "adjoint", "run", tmp_path / "run.py")
    assert done.returncode == 1
    assert done.stderr.splitlines()[:2] == ["Traceback (most recent call last):", f'  File "{tmp_path / "run.py"}", line 3, in <module>']


def test_errors_in_a_notebook_name_the_cell(tmp_path):
    path = notebook(tmp_path / "book.ipynb", "import torch", "x = 1\ntorch.brew_tea()")
    done = python("-m", "adjoint", "run", path)
    assert f'File "{path}[2]", line 2, in <module>\n    torch.brew_tea()' in done.stderr
    assert "adjoint has no torch.brew_tea yet." in done.stderr and "runpy" not in done.stderr and "cli" not in done.stderr


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["print(1)", "x = 1\n!pip install y"], "[2]:2: !pip install y is a command for the shell, and there is no Jupyter here"),
        (["%%bash\nls"], "[1]: %%bash is a magic, and there is no Jupyter here to run it."),
        (["%who"], "[1]:1: %who is a magic"),
    ],
)
def test_what_only_jupyter_runs_is_refused_before_anything_runs(tmp_path, cells, message):
    done = python("-m", "adjoint", "run", notebook(tmp_path / "book.ipynb", *cells))
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1
    assert message in done.stderr and "python -m adjoint run -m jupyter lab" in done.stderr


OPTREE = """
import sys
from types import SimpleNamespace

registry = SimpleNamespace(__GLOBAL_NAMESPACE="everywhere")
MappingEntry = object
registered = {}


def register_pytree_node(cls, flatten, unflatten, *, path_entry_type, namespace):
    registered[cls] = flatten, unflatten, namespace
"""


@pytest.mark.parametrize("first", ["optree", "torch"])
def test_optree_is_told_of_the_tables_of_modules(tmp_path, first):
    """A stand-in for it, which notes what is registered."""
    (tmp_path / "optree.py").write_text(OPTREE, encoding="utf-8")
    program = f"""
        import sys, adjoint
        sys.path.append({str(tmp_path)!r})
        {"import optree" if first == "optree" else ""}
        adjoint.as_torch()
        import optree, torch
        table = torch.nn.Linear(2, 1)._parameters
        flatten, unflatten, where = optree.registered[type(table)]
        leaves, names, entries = flatten(table)
        again = unflatten(names, leaves)
        print(where, names, entries, [list(x.shape) for x in leaves], type(again) is dict, again == table)
    """
    done = python("-c", "\n".join(line[8:] for line in program.splitlines()))
    assert printed(done) == ["everywhere ['bias', 'weight'] ['bias', 'weight'] [[1], [1, 2]] True True"]
