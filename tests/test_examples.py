"""Every program in examples/ runs, at a reduced size, and what it is to make smaller gets smaller."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "examples"

# Arguments that make each program quick, and how far its figure must fall nevertheless.
REDUCED = {
    "demo": ([], 0.1),
    "mnist_cnn": (["--steps=60", "--size=8"], 0.9),
    "char_gpt": (["--steps=30", "--size=16"], 0.9),
    "vae": (["--steps=60", "--size=32"], 0.6),
    "lstm_forecast": (["--steps=30", "--size=16"], 0.8),
    "physics_informed": (["--steps=60", "--size=16"], 0.7),
    "gan": (["--steps=100", "--size=32"], 0.8),
    "graph_network": (["--steps=30", "--size=200"], 0.8),
    "neural_ode": (["--steps=40", "--size=16"], 0.5),
}
HELPERS = {"progress"}


BAR = """
class tqdm:
    def __init__(self, total):
        self.total, self.done, self.text = total, 0, ""
    def update(self):
        self.done += 1
    def set_postfix_str(self, text, refresh):
        self.text = text
    def close(self):
        print(f"bar at {self.done} of {self.total}, {self.text}")
"""


def run(name, *arguments, folder=""):
    command = [sys.executable, "-W", "error", FOLDER / f"{name}.py", *arguments]
    path = os.pathsep.join(filter(None, [str(folder), str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", REDUCED)
def test_it_learns(name):
    arguments, factor = REDUCED[name]
    last_line = run(name, *arguments).splitlines()[-1]
    found = re.search(r"(\S+) -> ([^\s,]+)", last_line)
    assert found, f"the last line should say how far the loss fell, but it is: {last_line}"
    first, last = float(found[1]), float(found[2])
    assert last < factor * first, last_line


def test_every_program_is_run():
    assert {path.stem for path in FOLDER.glob("*.py")} == REDUCED.keys() | HELPERS


def test_progress_is_a_bar_where_tqdm_is_installed(tmp_path):
    (tmp_path / "tqdm.py").write_text(BAR, encoding="utf-8")
    bar, last_line = run("graph_network", "--steps=3", "--size=80", folder=tmp_path).splitlines()
    assert re.fullmatch(r"bar at 3 of 3, loss \d\.\d{4}", bar)
    assert last_line.startswith("loss ")
