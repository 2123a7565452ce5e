"""Nothing is said of programs that work: examples run with every loss asked about, and under a recording, and print what they print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

ASKING = """
import runpy, sys
import adjoint as ad

backward = ad.Tensor.backward

def asking(loss, *args, **kwargs):
    if found := ad.blame(loss):
        raise AssertionError(str(found))
    backward(loss, *args, **kwargs)

_, how, program, *_ = sys.argv
del sys.argv[:2]
if how == "asking":
    ad.Tensor.backward = asking
    runpy.run_path(program, run_name="__main__")
elif how == "recording":
    with ad.blame.recording() as record:
        runpy.run_path(program, run_name="__main__")
    assert record.passes and record.first is None, record.first
else:
    runpy.run_path(program, run_name="__main__")
"""


def output(how, program, arguments, folder):
    command = [sys.executable, "-c", ASKING, how, str(EXAMPLES / program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("program", "arguments"),
    [("char_gpt.py", ["--steps=4", "--size=16"]), ("gan.py", ["--steps=5", "--size=32"]), ("neural_ode.py", ["--steps=3", "--size=16"])],
)
def test_examples_are_not_blamed(program, arguments, tmp_path):
    plain = output("plain", program, arguments, tmp_path)
    assert output("asking", program, arguments, tmp_path) == plain
    assert output("recording", program, arguments, tmp_path) == plain
