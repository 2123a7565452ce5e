"""Anomaly mode beside PyTorch's: the same programs are refused, at the same node, in the same words."""

from __future__ import annotations

import warnings

import pytest

import adjoint as ad
from tests.autograd.nan_programs import NAN_PROGRAMS, leaf

torch = pytest.importorskip("torch")
PROGRAMS = [program for programs in NAN_PROGRAMS.values() for program in programs]
NAMES = [f"{pattern} {place}" for pattern, programs in NAN_PROGRAMS.items() for place, _ in enumerate(programs)]


def told(lib, program, **options):
    """The first line of the error, and how the warnings begin, file names and lines apart."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        error = None
        with lib.autograd.detect_anomaly(**options):
            try:
                program(lib).backward()
            except RuntimeError as raised:
                error = str(raised).splitlines()[0]
    return error, [str(w.message).split(" Traceback")[0].split(" (")[0] for w in caught]


@pytest.mark.parametrize("program", PROGRAMS, ids=NAMES)
def test_same_node_and_words(program):
    ours, theirs = told(ad, program), told(torch, program)
    assert str(ours).lower() == str(theirs).lower()


def test_infinities_pass():
    program = lambda lib: leaf(lib, 0.0).sqrt().sum()  # noqa: E731
    assert told(ad, program) == told(torch, program)
    assert told(ad, program)[0] is None


def test_without_check():
    program = NAN_PROGRAMS["sqrt(0)"][0]
    assert told(ad, program, check_nan=False) == told(torch, program, check_nan=False)


def double(lib):
    x = leaf(lib, 0.0)
    (g,) = lib.autograd.grad((x**1.5).sum(), x, create_graph=True)
    return (g * 0).sum()


def custom_raises(lib):
    class Raises(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("mine")

    return Raises.apply(leaf(lib, 1.0)).sum()


def overwritten(lib):
    y = leaf(lib, 1.0).exp()
    y += 1
    return y.sum()


@pytest.mark.parametrize("program", [double, custom_raises])
def test_generations_and_errors(program):
    assert told(ad, program) == told(torch, program)


def test_error_in_backward_is_announced():
    assert told(ad, overwritten)[1] == told(torch, overwritten)[1]


def test_forward_outside_the_mode():
    def told_later(lib):
        loss = (leaf(lib, 0.0).sqrt() * 0).sum()
        return told(lib, lambda _: loss)

    assert told_later(ad) == told_later(torch)


def test_metadata():
    def keys(lib):
        with warnings.catch_warnings(action="ignore"), lib.autograd.detect_anomaly():
            x = leaf(lib, 1.0)
            y = x * 2
            (g,) = lib.autograd.grad((y**3).sum(), x, create_graph=True)
            return list(y.grad_fn.metadata), list(g.grad_fn.metadata), type(y.grad_fn.metadata["traceback_"][0])

    assert keys(ad) == keys(torch)
