"""The command line, each command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import adjoint as ad
from adjoint import cli
from adjoint._place import VERSION

ROOT = Path(__file__).resolve().parent.parent


def adjoint(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "adjoint", *map(str, arguments)], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
    )  # fmt: skip


@pytest.fixture
def script(tmp_path):
    def write(text, name="script.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


TRAINING = """
import sys
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset
import helper

if __name__ == "__main__":
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x = torch.rand(32, 2)
    for a, b in DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=8, num_workers=1):
        optimizer.zero_grad()
        F.mse_loss(model(a), b).backward()
        optimizer.step()
    torch.save(model.state_dict(), sys.argv[1])
    assert torch is sys.modules["torch"] and torch.nn is nn
    print(sys.argv[1:], __file__, helper.ANSWER, torch.__name__)
"""


def test_run(script, tmp_path):
    script("ANSWER = 42", "helper.py")
    path = script(TRAINING)
    done = adjoint("run", path, tmp_path / "model.pt", "--lr", "3")
    assert done.stderr == ""
    assert done.stdout == f"{[str(tmp_path / 'model.pt'), '--lr', '3']} {path} 42 torch\n"
    assert list(ad.load(tmp_path / "model.pt")) == ["0.weight", "0.bias", "2.weight", "2.bias"]


NAMES = """
import torch
from torch import nn
for value in (torch.ones(1), nn.Parameter(torch.ones(1)), torch.ones(1).shape, torch.float32, torch.device("cpu"), nn.Linear(1, 1),
              nn.BatchNorm2d(1), nn.LayerNorm(1), nn.ReflectionPad2d(1), nn.PixelShuffle(1), nn.LSTM(1, 1), nn.MultiheadAttention(1, 1),
              nn.Sequential(), nn.LazyConv2d(1, 1), nn.Embedding(1, 1), torch.optim.AdamW([torch.ones(1)])):
    print(type(value))
"""
PRINTED = """<class 'torch.Tensor'>
<class 'torch.nn.parameter.Parameter'>
<class 'torch.Size'>
<class 'torch.dtype'>
<class 'torch.device'>
<class 'torch.nn.modules.linear.Linear'>
<class 'torch.nn.modules.batchnorm.BatchNorm2d'>
<class 'torch.nn.modules.normalization.LayerNorm'>
<class 'torch.nn.modules.padding.ReflectionPad2d'>
<class 'torch.nn.modules.pixelshuffle.PixelShuffle'>
<class 'torch.nn.modules.rnn.LSTM'>
<class 'torch.nn.modules.activation.MultiheadAttention'>
<class 'torch.nn.modules.container.Sequential'>
<class 'torch.nn.modules.conv.LazyConv2d'>
<class 'torch.nn.modules.sparse.Embedding'>
<class 'torch.optim.adamw.AdamW'>
"""


def test_classes_have_pytorchs_names_in_a_script(script):
    done = adjoint("run", script(NAMES))
    assert done.stdout == PRINTED, done.stderr


SPAWNING = """
import torch
import torch.multiprocessing as mp
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 1)

def work(rank, model, queue):
    queue.put((rank, type(model.linear).__module__, torch.__version__, torch.equal(model.linear.weight, torch.ones(1, 2))))

if __name__ == "__main__":
    model = Net()
    nn.init.ones_(model.linear.weight)
    queue = mp.get_context("spawn").SimpleQueue()
    mp.spawn(work, args=(model, queue), nprocs=2)
    print(sorted(queue.get() for _ in range(2)))
    torch.save(model, "model.pt")
    print(type(torch.load("model.pt", weights_only=False)) is Net)
"""


def test_spawned_processes_run_on_adjoint_too(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = adjoint("run", script(SPAWNING))
    expected = [(rank, "torch.nn.modules.linear", VERSION, True) for rank in range(2)]
    assert done.stdout == f"{expected}\nTrue\n", done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import torch\ntorch.brew_tea()", "adjoint has no torch.brew_tea yet."),
        ("import torch\ntorch.nn.Kettle()", "adjoint has no torch.nn.Kettle yet."),
        ("from torch.nn import Kettle", "adjoint has no torch.nn.Kettle yet."),
        ("import torch.tea", "No module named 'torch.tea'\nadjoint has no torch.tea yet."),
        ("import torch.tea.green", "adjoint has no torch.tea yet"),
    ],
)
def test_run_names_what_is_missing(script, text, message):
    done = adjoint("run", script(text))
    assert done.returncode == 1
    assert message in done.stderr
    assert "python -m adjoint check" in done.stderr


def test_errors_of_the_script_itself_are_left_alone(script):
    done = adjoint("run", script("import torch\n''.x"))
    assert done.stderr.endswith("AttributeError: 'str' object has no attribute 'x'\n")
    assert adjoint("run", script("import sys; sys.exit(3)")).returncode == 3


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (["none.py"], "can't open file 'none.py': there is no such file"),
        (["none.ipynb", "-x"], "can't open file 'none.ipynb': there is no such file"),
        (["-m"], "Argument expected for the -m option"),
        (["-q", "x.py"], "unknown option -q: options of the program stand after it, and those of Python before -m adjoint"),
        ([], "what shall be run? Name script.py, -m module, -c code or notebook.ipynb"),
    ],
)
def test_nothing_to_run_is_said_in_one_line(capsys, program, message):
    assert cli.main(["run", *program]) == 2
    assert capsys.readouterr().err == f"python -m adjoint run: {message}\n"


def test_info():
    done = adjoint("info")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["adjoint", "Python", "NumPy", "kernels", "threads"]


def test_cache(tmp_path):
    (tmp_path / "kernel.o").write_bytes(b"12345")
    shown = adjoint("cache", ADJOINT_CACHE_DIR=str(tmp_path)).stdout
    assert "kernels, " in shown
    cleared = adjoint("cache", "--clear", ADJOINT_CACHE_DIR=str(tmp_path)).stdout
    assert cleared.startswith("removed ")
    assert ": 0 kernels" in adjoint("cache", ADJOINT_CACHE_DIR=str(tmp_path)).stdout


NAMED = """
import torch
import torch.nn.utils.prune as prune
from torch import nn, optim

layer = nn.Linear(2, 2)
prune.random_unstructured(layer, "weight", 0.5)
schedule = optim.lr_scheduler.StepLR(optim.SGD(layer.parameters(), lr=0.1), 1)
print(type(next(iter(layer._forward_pre_hooks.values()))), type(schedule))
"""


def test_classes_of_modules_that_a_script_imports_carry_pytorchs_names(script):
    done = adjoint("run", script(NAMED))
    assert done.returncode == 0, done.stderr
    assert "torch.nn.utils.prune.RandomUnstructured" in done.stdout and "torch.optim.lr_scheduler.StepLR" in done.stdout


def test_there_is_nothing_to_build_without_llvm(tmp_path):
    done = adjoint("cache", "build", ADJOINT_CACHE_DIR=str(tmp_path), ADJOINT_KERNELS="0")
    assert done.returncode == 0 and done.stdout.startswith("nothing to build")
