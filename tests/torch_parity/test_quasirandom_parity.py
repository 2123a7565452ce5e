"""Sobol' points are PyTorch's, bit by bit."""

import pytest

import adjoint as ad

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dimension", [1, 2, 3, 7, 40, 1111, 21201])
def test_direction_numbers(dimension):
    ours, theirs = ad.quasirandom.SobolEngine(dimension), torch.quasirandom.SobolEngine(dimension)
    assert (ours.sobolstate.numpy() == theirs.sobolstate.numpy()).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scramble", [False, True])
def test_points(scramble, dtype):
    drawn = []
    for lib in (ad, torch):
        engine = lib.quasirandom.SobolEngine(5, scramble=scramble, seed=1234)
        kind = getattr(lib, dtype)
        parts = [engine.draw(1, dtype=kind), engine.draw(6, dtype=kind), engine.fast_forward(9).draw(16, dtype=kind)]
        parts.append(engine.reset().draw(3, dtype=kind))
        engine.reset().fast_forward(5)
        drawn.append([*parts, engine.draw(2, dtype=kind), engine.shift, engine._first_point])
    for ours, theirs in zip(*drawn, strict=True):
        assert str(ours.dtype) == str(theirs.dtype) and (ours.numpy() == theirs.numpy()).all()


def test_the_seed_of_the_program():
    drawn = []
    for lib in (ad, torch):
        lib.manual_seed(3)
        drawn.append(lib.quasirandom.SobolEngine(3, scramble=True).draw_base2(4).numpy())
    assert (drawn[0] == drawn[1]).all()


def test_many_points():
    ours, theirs = (lib.quasirandom.SobolEngine(3, scramble=True, seed=0).draw(600_001).numpy() for lib in (ad, torch))
    assert (ours == theirs).all()
