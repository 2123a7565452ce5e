"""A short run of the fuzzer with a fixed seed, and the programs that it found before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import fuzz
from fuzz.targets import load
from fuzz.work import Fuzzer, Settings, replay

pytest.importorskip("torch")

PROGRAMS = 300
KEPT = sorted((Path(fuzz.__file__).parent / "kept").glob("*.py"))


def test_random_programs_give_the_results_of_pytorch(tmp_path):
    compared = [name for name, family in load().items() if hasattr(family, "program")]
    mode = "0" if os.environ.get("ADJOINT_KERNELS") == "0" else "default"
    session = Fuzzer(Settings(compared, [mode], 0, tmp_path, count=PROGRAMS, shrinks=False))
    session.run()
    assert session.ran == PROGRAMS
    assert not session.kinds, session.summary()  # and what was printed


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_was_found_once_stays_mended(path):
    assert replay([path], pytest.fail) == 0
