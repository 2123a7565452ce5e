"""Sobol' points."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.quasirandom import MAXDIM, direction_numbers, primitive_polynomials


def test_primitive_polynomials():
    assert [bin(p)[2:] for p in primitive_polynomials(4).tolist()] == ["10011", "11001"]
    assert [len(primitive_polynomials(degree)) for degree in range(1, 11)] == [1, 1, 2, 2, 6, 6, 18, 16, 48, 60]


def test_direction_numbers_of_the_last_dimension():
    numbers = direction_numbers(MAXDIM)
    assert numbers.shape == (MAXDIM, 30) and (numbers[:, 0] == 1 << 29).all()  # the first one is a half
    assert ((numbers >> np.arange(30)[::-1]) & 1).all()  # every starting number is odd, and so are those that follow
    assert (numbers[:40] == direction_numbers(40)).all()


@pytest.mark.parametrize("scramble", [False, True])
def test_every_part_of_the_cube_gets_a_point(scramble):
    points = ad.quasirandom.SobolEngine(6, scramble=scramble, seed=7).draw(64).numpy()
    assert (np.sort((points * 64).astype(int), axis=0) == np.arange(64)[:, None]).all()


def test_going_on_and_beginning_again():
    engine = ad.quasirandom.SobolEngine(3, scramble=True, seed=1)
    whole = engine.draw(32)
    assert ad.equal(ad.cat([engine.reset().draw(1), engine.draw(20), engine.draw(11)]), whole)
    assert ad.equal(engine.reset().fast_forward(5).fast_forward(4).draw(4), whole[9:13])
    assert engine.num_generated == 13
    out = ad.empty(0)
    assert engine.reset().draw(2, out=out) is out and ad.equal(out, whole[:2])
    assert engine.reset().draw(3, dtype=ad.float64).dtype is ad.float64


def test_powers_of_two():
    engine = ad.quasirandom.SobolEngine(1)
    assert engine.draw_base2(2).shape == (4, 1) and engine.draw_base2(2).shape == (4, 1)
    with pytest.raises(ValueError, match=r"The balance properties of Sobol' points .* 8 points .* n=8\+2\*\*1=10"):
        engine.draw_base2(1)


def test_errors_and_repr():
    for dimension in (0, MAXDIM + 1):
        with pytest.raises(ValueError, match=r"Supported range of dimensionality for SobolEngine is \[1, 21201\]"):
            ad.quasirandom.SobolEngine(dimension)
    with pytest.raises(NotImplementedError, match="\"_sobol_engine_draw\" not implemented for 'Half'"):
        ad.quasirandom.SobolEngine(2).draw(2, dtype=ad.float16)
    assert repr(ad.quasirandom.SobolEngine(2)) == "SobolEngine(dimension=2)"
    assert repr(ad.quasirandom.SobolEngine(2, scramble=True, seed=3)) == "SobolEngine(dimension=2, scramble=True, seed=3)"
