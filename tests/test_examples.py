"""Every program in examples/ runs by itself, at a reduced size, what it is to make smaller gets smaller, and it draws what it learned."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

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


def run(name, *arguments, folder, by=()):
    """Run a copy of a program in a folder that holds nothing else: each stands alone."""
    program = shutil.copy(FOLDER / f"{name}.py", folder)
    command = [sys.executable, "-W", "error", *by, program, *arguments]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stderr if by else done.stdout


@pytest.mark.parametrize("name", REDUCED)
def test_it_learns_and_draws(name, tmp_path):
    arguments, factor = REDUCED[name]
    lines = run(name, *arguments, folder=tmp_path).splitlines()
    found = re.search(r"(\S+) -> ([^\s,]+)", lines[-1])
    assert found, f"the last line should say how far the loss fell, but it is: {lines[-1]}"
    first, last = float(found[1]), float(found[2])
    assert last < factor * first, lines[-1]
    (picture,) = [Path(line.removeprefix("picture: ")) for line in lines if line.startswith("picture: ")]
    assert picture.parent == tmp_path.resolve()
    panels = ElementTree.parse(picture).getroot().findall("{http://www.w3.org/2000/svg}text[@class='pt']")
    assert len(panels) >= 2  # the loss, and what was learned


@pytest.mark.parametrize("name", REDUCED)
def test_the_doctor_finds_nothing(name, tmp_path):
    said = run(name, *REDUCED[name][0], folder=tmp_path, by=("-m", "adjoint", "doctor"))
    assert "adjoint doctor: 0 findings, 0 notes" in said and "could not be followed" not in said, said


def test_every_program_is_run():
    assert {path.stem for path in FOLDER.glob("*.py")} == REDUCED.keys()
