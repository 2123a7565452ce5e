"""Where adjoint is torch, classes say that they are from the modules that PyTorch's are from: libraries and pickles go by that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

PROGRAM = """
import inspect, json, typing
from importlib import import_module

names = {}
for space in ("nn", "optim", "optim.lr_scheduler", "optim.swa_utils", "utils.data", "distributions", "distributions.constraints", "amp",
              "fx", "nn.utils.parametrize", "utils.checkpoint", "autograd.graph", "storage", "serialization"):
    module = import_module(f"torch.{space}")
    for name in dir(module):
        value = getattr(module, name)
        if inspect.isclass(value) and not name.startswith("_") and name != "Storage":
            try:
                known = typing.get_type_hints(value) is not None
            except (NameError, TypeError):  # PyTorch has such, too
                known = False
            names[f"{space}.{name}"] = f"{value.__module__}.{value.__qualname__}", known
print(json.dumps(names))
"""


def names(*command):
    command, environment = (sys.executable, "-W", "ignore", *command, "-c", PROGRAM), os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_classes_are_from_pytorchs_modules():
    ours, theirs = names("-m", "adjoint", "run"), names()
    both = ours.keys() & theirs.keys()
    assert {name: ours[name][0] for name in both} == {name: theirs[name][0] for name in both}
    assert {name for name in both if not ours[name][1]} <= {"autograd.graph.Node"}  # whose hints are for type checkers only
    assert len(both) > 300
