"""`python -m adjoint check`: what it says of a program, and that it does not say yes to what raises."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

from adjoint import cli
from adjoint.cli.check.checking import check
from adjoint.cli.check.program import Program
from adjoint.cli.check.sources import Source


def told(text, handled=False):
    found = Program(Source(Path("script.py"), [(None, ast.parse(text))])).findings
    return sorted((finding.line, finding.kind, finding.name) for finding in found if finding.handled is handled)


MISSING = {
    "import torch\ntorch.brew(1)\n\ntorch.nn.Linear": [(2, "missing", "torch.brew")],
    "import torch as t\nt.Tensor.brew": [(2, "missing", "torch.Tensor.brew")],
    "import torch.nn as nn\nnn.Kettle.leaf": [(2, "missing", "torch.nn.Kettle")],
    "import torch.nn.functional as F\nF.relu, F.brew": [(2, "missing", "torch.nn.functional.brew")],
    "import torch.nn\ntorch.brew": [(2, "missing", "torch.brew")],
    "from torch import nn, tea": [(1, "missing", "torch.tea")],
    "from torch.nn import Linear as L, Kettle\nL.brew": [(1, "missing", "torch.nn.Kettle"), (2, "missing", "torch.nn.Linear.brew")],
    "import torch.tea.green": [(1, "missing", "torch.tea")],
    "import torch\nF = torch.nn.functional\nF.brew": [(3, "missing", "torch.nn.functional.brew")],
    "import torch\nF, x = torch.nn.functional, 1\nF.brew": [(3, "missing", "torch.nn.functional.brew")],
    "import torch\ngetattr(torch, 'brew')": [(2, "missing", "torch.brew")],
    "import importlib\nimportlib.import_module('torch.tea')": [(2, "missing", "torch.tea")],
    "import torch\nclass Net(torch.nn.Kettle):\n  pass": [(2, "missing", "torch.nn.Kettle")],
    "import torch\ndef f(x: torch.Tea): pass": [(2, "missing", "torch.Tea")],
    "import torch\ndef f():\n  return torch.brew()": [(3, "missing", "torch.brew")],
    "import torch\nif True:\n  x = torch\nelse:\n  x = None\nx.brew": [(6, "missing", "torch.brew")],
    "import torch\nif torch.rand(1) > 0:\n  x = torch\nelse:\n  x = None\nx.brew": [(6, "missing", "torch.brew")],
    "import torch\nclass A(torch.nn.Module):\n  def f(self): self._slow_forward(1)": [(3, "missing", "torch.nn.Module._slow_forward")],
    "import torch\ndef f(x: torch.Tensor): x.volatile": [(2, "missing", "torch.Tensor.volatile")],
    "import torch\nx = torch.zeros(1)\nx.volatile": [(3, "missing", "torch.Tensor.volatile")],
    "from torch.nn import *\nLinear, Kettle": [(2, "unknown", "torch.nn.Kettle")],
    # what a program assigns may change
    "import torch\nfound = False\nfor x in range(3):\n  found = True\nif found:\n  torch.brew()": [(6, "missing", "torch.brew")],
    "import torch\nplain = True\nif torch.rand(1) > 0:\n  plain = False\nif not plain:\n  torch.brew()": [(6, "missing", "torch.brew")],
    "import torch\nx = hasattr(torch, 'brew')\nif f(x):\n  x = hasattr(torch, 'add')\nif x:\n torch.brew()": [(6, "missing", "torch.brew")],
    "def f(): return F.brew\nif f:\n  x = 1\nimport torch.nn.functional as F": [(1, "missing", "torch.nn.functional.brew")],
    "import torch\nready = True\ndef f():\n  global ready\n  ready = False\nif not ready:\n  torch.brew()": [(7, "missing", "torch.brew")],
    "import torch\ntry:\n  start()\n  fast = True\nexcept ImportError:\n  fast = False\nif fast:\n  torch.brew()":
        [(8, "missing", "torch.brew")],
    "import torch\ntry:\n  import json\n  fast = True\nexcept ImportError:\n  fast = False\nif fast:\n  torch.brew()":
        [(8, "missing", "torch.brew")],
    "import torch\ndef is_fast():\n  return torch.rand(1) > 0\nif is_fast():\n  torch.brew()": [(5, "missing", "torch.brew")],
    # PyTorch has them neither: another package may bring them
    "import torch\ntorch.npu.synchronize()": [(2, "unknown", "torch.npu")],
    "import torch\ntorch.ops.kettle.brew(1)": [(2, "unknown", "torch.ops.kettle.brew")],
    # caught by nothing: the errors are others, or the handler gives up
    "try:\n  import torch.tea\nexcept AttributeError: pass": [(2, "missing", "torch.tea")],
    "try:\n  import torch.tea\nexcept ImportError as e:\n  raise RuntimeError from e": [(2, "missing", "torch.tea")],
}

REFUSED = {
    "from torch.utils.cpp_extension import load\nload('x')":
        [(1, "refused", "torch.utils.cpp_extension.load"), (2, "refused", "torch.utils.cpp_extension.load")],
    "import torch\ntorch.cuda.current_device()": [(2, "refused", "torch.cuda.current_device")],
    "import torch\ntorch.zeros(2, color='red')": [(2, "refused", "torch.zeros")],
    "import torch\ntorch.manual_seed(2, 3)": [(2, "refused", "torch.manual_seed")],
    "import torch\ntorch.zeros(2, device='cuda')": [(2, "refused", "torch.zeros")],
    "import torch\nd = torch.device('cuda:0')\ntorch.zeros(2).to(d)": [(3, "refused", ".to")],
    "import torch\nd = 'cuda' if torch.cuda.is_available() or True else 'cpu'\ntorch.zeros(2, device=d)": [(3, "refused", "torch.zeros")],
    "import torch\nd = 'cuda'\nif torch.rand(1) > 0:\n  d = 'cpu'\ntorch.zeros(2, device=d)": [(5, "refused", "torch.zeros")],
    "def f(x, device='cuda'): pass": [(1, "unknown", "cuda")],
    "parser.add_argument('--device', default='cuda')": [(1, "unknown", "cuda")],
    "import torch\nmodel = make()\nmodel.cuda()": [(3, "refused", ".cuda")],
    "import torch\ntorch.distributed.init_process_group('nccl')": [(2, "refused", "torch.distributed.init_process_group")],
    "import torch\ntorch.zeros(2, dtype=torch.qint8)": [(2, "refused", "torch.zeros")],
    "import torch\ndef f(x): return x.to(torch.qint8)": [(2, "refused", ".to")],
    "import torch\ntorch.hub.load('a/b', 'c')": [(2, "unknown", "torch.hub.load")],
    "def f(batch): return batch.pin_memory()": [(1, "unknown", ".pin_memory")],
    "import torch\ntorch.cuda.empty_cache()": [(2, "inert", "torch.cuda.empty_cache")],
    "import torch\ndef f(x, name): return getattr(torch, name)(x)": [(2, "unknown", "torch")],
    "import torch\ndef f(x): return x.const_data_ptr()": [(2, "unknown", ".const_data_ptr")],
}  # fmt: skip

# A word about each: why nothing is in the way.
FINE = [
    "import torch\ntorch.ones(1).foo",  # an attribute of the program's own
    "from .torch import x\nimport numpy\nnumpy.brew",  # another package
    "from torch.utils.data import DataLoader\nimport torch\ntorch.optim.lr_scheduler.StepLR",
    "import torch\nif hasattr(torch, 'brew'):\n  torch.brew()",
    "import torch\nif not hasattr(torch, 'brew'):\n  raise SystemExit\ntorch.brew()",
    "import torch\nif torch.cuda.is_available():\n  torch.zeros(1).cuda()",
    "import torch\nd = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\ntorch.zeros(1, device=d).to(d)",
    "import torch\nfrom packaging import version\nif version.parse(torch.__version__) < version.parse('1.9'):\n  torch.brew()",
    "import torch\nold = tuple(int(x) for x in torch.__version__.split('.')[:2]) < (1, 8)\nif old:\n  torch.brew()",
    "import torch\nif torch.__version__ < '1.8':\n  torch.brew()",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n  from torch.tea import Green",
    "from __future__ import annotations\nimport torch\ndef f(x: torch.Tea): pass",
    "import torch\ntorch.brew = 1\ntorch.brew",  # put there by the program
    "import torch\nx = getattr(torch, 'brew', None)",
    "import torch\ndef f(torch): return torch.brew",  # another thing of that name
    "from torch.nn import *\nLinear",
    "import torch\ntorch.nn.Linear(1, 2, bias=False, device='cpu')",
    "import torch\ntorch.backends.cudnn.benchmark = True",
    "import torch\nKINDS = {torch.qint8: 'q'}\ntorch.zeros(1, dtype=torch.float32).to(torch.float16)",
    "import torch\nclass A(torch.nn.Module):\n  def _slow_forward(self): self._slow_forward()",
    "try:\n  from torch import nn\nexcept ImportError:\n  from torch import tea",
    "import torch\nready = False\nif ready:\n  torch.brew()",
    "import torch\ntry:\n  import a_kettle\n  HAS = True\nexcept ImportError:\n  HAS = False\ndef f():\n  if HAS:\n    torch.brew()",
    "import torch\nHAS = False\ntry:\n  import a_kettle\n  HAS = True\nexcept Exception: pass\nif HAS:\n  torch.brew()",
    "import torch\nfrom importlib.util import find_spec\nif find_spec('a_kettle') is not None:\n  torch.brew()",
    "import torch\ndef has():\n  try:\n    import a_kettle\n    return 1\n  except ImportError:\n    return 0\nif has():\n  torch.brew()",
    "import torch\ndef has():\n  'Whether.'\n  return hasattr(torch, 'brew')\ndef f():\n  if has() and torch.brew(): pass",
    "import torch\nbrew = getattr(torch, 'brew', None)\nif brew is not None:\n  torch.brew()",
    "import torch\ndef f(x: torch.Tensor, y):\n  if x.is_cuda or y.is_cuda or y.device.type == 'cuda':\n    torch.brew()",
    "import torch\ntorch.flip(torch.ones(2), dims=[0])",
    "from torch.version import cuda\nif cuda is not None:\n  cuda.split('.')",
]

HANDLED = {
    "try:\n  from torch import tea\nexcept ImportError:\n  tea = None\ntea.green": [(2, "missing", "torch.tea")],
    "import torch\ntry:\n  torch.brew\nexcept (AttributeError, KeyError):\n  pass": [(3, "missing", "torch.brew")],
    "import torch\ntry:\n  torch.cuda.synchronize()\nexcept Exception:\n  pass": [(3, "refused", "torch.cuda.synchronize")],
    "import torch\ntry:\n  from torch.tea import green\n  HAS = True\nexcept ImportError:\n  HAS = False\nif HAS:\n  torch.brew(green)":
        [(3, "missing", "torch.tea")],
    "from contextlib import suppress\nwith suppress(ImportError):\n  import torch.tea": [(3, "missing", "torch.tea")],
}


@pytest.mark.parametrize(("text", "expected"), [*MISSING.items(), *REFUSED.items()])
def test_what_is_in_the_way(text, expected):
    assert told(text) == expected


@pytest.mark.parametrize("text", FINE)
def test_what_is_not(text):
    assert told(text) == []


@pytest.mark.parametrize(("text", "expected"), HANDLED.items())
def test_what_a_program_handles_is_not_counted(text, expected):
    assert told(text) == []
    assert told(text, handled=True) == expected


def test_a_submodule_counts_as_there_only_after_its_import(monkeypatch):
    from adjoint import learn
    from adjoint.cli.check import names

    monkeypatch.delitem(sys.modules, "adjoint.learn._judging", raising=False)  # another test may have imported it
    monkeypatch.delattr(learn, "_judging", raising=False)
    assert told("import torch.utils.cpp_extension\nimport torch\ntorch.utils.cpp_extension.CUDA_HOME") == []
    assert told("import torch\ntorch.nn.functional.relu") == []
    assert names.looking_up("torch.learn._judging").kind == "unknown"
    assert names.looking_up("torch.learn._judging", {"torch.learn._judging"}).kind == "there"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text, encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return write


def test_lines_and_exit_codes(folder, capsys):
    folder({"good.py": "import torch", "bad.py": "import torch\ntorch.brew()\n\ntorch.brew", "broken.py": "def"})
    assert cli.main(["check", "good.py"]) == 0
    assert capsys.readouterr().out == "1 file: nothing in the way\n"
    assert cli.main(["check", "good.py", "bad.py"]) == 1
    assert capsys.readouterr().out == "bad.py:2: adjoint has no torch.brew (also line 4)\n2 files: 1 missing\n"
    assert cli.main(["check", "."]) == 2
    assert "broken.py: cannot be read: line 1: invalid syntax" in capsys.readouterr().out
    assert cli.main(["check", "none.py"]) == 2
    assert "none.py: cannot be read: there is no such file" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main(["check"])
    assert "name a file, a folder or a notebook" in capsys.readouterr().err


def test_notebooks_are_read_cell_by_cell(folder, capsys):
    cells = [
        ("markdown", ["torch.brew"]),
        ("code", ["%matplotlib inline\n", "!pip install tea\n", "import torch"]),
        ("code", ["%%bash\n", "echo torch.brew ("]),
        ("code", ["%%time\n", "x = !ls\n", "torch.ones?\n", "torch.brew()"]),
    ]
    book = {"cells": [{"cell_type": kind, "source": source} for kind, source in cells], "nbformat": 4}
    folder({"book.ipynb": json.dumps(book), "empty.ipynb": "{}"})
    assert cli.main(["check", "book.ipynb"]) == 1
    lines = capsys.readouterr().out.splitlines()
    places = ["cell 1, line 2", "cell 2, line 1", "cell 3, line 2", "cell 3, line 4"]
    assert [line.partition(": ")[0] for line in lines[:-1]] == [f"book.ipynb, {place}" for place in places]
    assert "!pip install tea is a command for the shell" in lines[0]
    assert lines[3] == "book.ipynb, cell 3, line 4: adjoint has no torch.brew"
    assert check(["empty.ipynb"]).exit_code == 2


def test_an_import_fails_where_what_it_runs_fails(folder):
    folder({
        "main.py": "import helper\ntry:\n  import package.part\nexcept ImportError:\n  pass\nimport nothing_of_the_kind",
        "helper.py": "import other", "other.py": "import torch\nif True:\n  torch.brew",
        "package/__init__.py": "", "package/part.py": "from . import last", "package/last.py": "from torch import tea\nimport package.part",
        "lazy.py": "import torch\ndef f(): torch.brew()", "user.py": "import lazy",
    })  # fmt: skip
    (main,) = check(["main.py"]).files
    assert [(f.line, f.kind, f.name, f.handled) for f in main.findings] == [
        (1, "missing", "helper", False), (3, "missing", "package.part", True), (6, "unknown", "nothing_of_the_kind", False)
    ]  # fmt: skip
    assert main.findings[0].what.endswith("other.py:3: adjoint has no torch.brew")
    assert not check(["user.py"]).having("missing")  # f is not called on import
    assert check(["user.py"], deep=True).having("missing")
    assert check(["user.py"]).packages == ["lazy"]


def test_what_a_module_might_do_on_import_does_not_stop_it(folder):
    ready = "def ready():\n  if not os.environ: return\n  torch.brew()\nready()\nif __name__ == '__main__':\n  torch.tea()"
    folder({"main.py": "import part", "part.py": f"import os, torch\n{ready}"})
    (found,) = check(["main.py"]).files[0].findings
    assert found.kind == "unknown" and "fails here if it gets there" in found.what and "part.py:4" in found.what


def test_functions_that_a_module_calls_on_import_belong_to_it(folder):
    folder({"main.py": "import part", "part.py": "import torch\ndef f(): g()\ndef g(): torch.brew\nf()"})
    assert [finding.line for finding in check(["main.py"]).having("missing")] == [1]


def test_a_file_of_a_package_needs_the_package(folder):
    folder({"package/__init__.py": "import torch\ntorch.brew", "package/part.py": "import torch"})
    (part,) = check(["package/part.py"]).files
    assert part.findings[0].what.endswith("__init__.py:2: adjoint has no torch.brew")


def test_installed_packages(folder, monkeypatch, capsys):
    path = folder({"site/tea/__init__.py": "import torch\ndef f(): torch.brew()"})
    monkeypatch.setattr(sys, "path", [*sys.path, str(path / "site")])
    assert cli.main(["check", "--package", "tea", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["exit_code"] == 1
    (finding,) = found["files"][0]["findings"]
    assert (finding["name"], finding["kind"], finding["line"], finding["handled"], finding["on_import"]) == (
        "torch.brew", "missing", 2, False, False
    )  # fmt: skip
    assert cli.main(["check", "--package", "no-such-package"]) == 2
    assert "there is no package no-such-package here" in capsys.readouterr().err


def test_what_is_read_is_not_run(folder):
    folder({"main.py": "import torch, part\nraise SystemExit(3)", "part.py": "raise SystemExit(3)"})
    assert check(["main.py"]).exit_code == 0
