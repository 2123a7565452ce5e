"""The fixture that watches global state must fail every test that leaks, and only those."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

pytest_plugins = ["pytester"]

TESTS = """
import random
import numpy as np
import adjoint as ad

INFERENCE = ad.inference_mode()  # kept here, lest it ends when the test's own names go

def test_tidy():
    with ad.no_grad():
        ad.randn(3)

def test_default_dtype(): ad.set_default_dtype(ad.float64)
def test_anomaly_mode(): ad.autograd.set_detect_anomaly(True)
def test_numpy(): np.random.rand()
def test_random(): random.random()
def test_grad_mode(): ad.set_grad_enabled(False)
def test_inference_mode(): INFERENCE.__enter__()
"""

LEAKS = (
    "default dtype",
    "anomaly mode",
    "NumPy's global generator",
    "Python's global generator",
    "grad mode",
    "inference mode",
)


def test_leaks_fail(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent), prepend=os.pathsep)
    shutil.copy(Path(__file__).parent / "conftest.py", pytester.path)
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1 + len(LEAKS), errors=len(LEAKS))
    result.stdout.fnmatch_lines([f"this test leaks global state: {name}" for name in LEAKS])


def test_random_order(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent), prepend=os.pathsep)
    shutil.copy(Path(__file__).parent / "conftest.py", pytester.path)
    pytester.makepyfile("import pytest\n@pytest.mark.parametrize('i', range(20))\ndef test(i): pass\n")

    def order(*options):
        result = pytester.runpytest_subprocess("-v", "-p", "no:cacheprovider", *options)
        result.assert_outcomes(passed=20)
        seeds = [line.partition("--order-seed=")[2] for line in result.outlines if line.startswith("random order")]
        return [line.split("[")[1].split("]")[0] for line in result.outlines if "::test[" in line], seeds

    assert order() == ([str(i) for i in range(20)], [])
    shuffled, (seed,) = order("--random-order")
    assert sorted(shuffled, key=int) == [str(i) for i in range(20)]
    assert order(f"--order-seed={seed}") == (shuffled, [seed])
    assert len({tuple(order(f"--order-seed={seed}")[0]) for seed in range(3)}) == 3
