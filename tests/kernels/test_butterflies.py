"""The text of small Fourier transforms, run: one for each lane."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from adjoint._kernels import jit
from adjoint._kernels.blocks import Function
from adjoint._kernels.butterflies import Complex, Lanes, dft

random = np.random.default_rng(5)


@pytest.mark.parametrize("n", range(1, 24))
def test_definition(n):
    f, lanes, vector = Function("dft", "ptr %x", "ptr %y"), 4, "<4 x double>"
    x = [Complex(*[Lanes(f, "f64", lanes, f.load(vector, "%x", 2 * j + part, 8)) for part in (0, 1)]) for j in range(n)]
    for k, y in enumerate(dft(x)):
        for part, of in enumerate(y):
            f.store(vector, of.register, f.at(vector, "%y", 2 * k + part), 8)
    address = jit.load(f"test dft {n}", f.text, ["dft"], jit.FINISHED)["dft"]
    given, found = random.standard_normal((n, 2, lanes)), np.empty((n, 2, lanes))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)(given.ctypes.data, found.ctypes.data)
    np.testing.assert_allclose(found[:, 0] + 1j * found[:, 1], np.fft.fft(given[:, 0] + 1j * given[:, 1], axis=0), rtol=1e-12, atol=1e-13)
