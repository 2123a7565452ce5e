"""torchaudio's loops over time, sample by sample."""

from __future__ import annotations

import numpy as np

import adjoint as ad
from adjoint import _audio as audio


def test_a_recursive_filter():
    rng = np.random.default_rng(0)
    x, a = rng.standard_normal((2, 1, 6)), np.array([[0.3, -0.5, 1.0]])  # the oldest sample's weight first
    out = np.zeros((2, 1, 8))
    audio._lfilter_core_loop(ad.from_numpy(x), ad.from_numpy(a), padded := ad.zeros(2, 1, 8, dtype=ad.float64))
    for b in range(2):
        for t in range(6):
            out[b, 0, t + 2] = x[b, 0, t] + 0.5 * out[b, 0, t + 1] - 0.3 * out[b, 0, t]
    np.testing.assert_allclose(padded.numpy(), out)


def test_overdrive():
    wave, bent = ad.tensor([[1.0, 2.0, 3.0]]), ad.tensor([[0.5, 1.0, 0.0]])
    out = ad.zeros(1, 3)
    audio._overdrive_core_loop(wave, bent, ad.zeros(1), ad.zeros(1), out)
    first, second = 0.5, 1.0 - 0.5 + 0.995 * 0.5
    third = 0.0 - 1.0 + 0.995 * second
    np.testing.assert_allclose(out.numpy(), [[0.5 + 0.75 * first, 1 + 0.75 * second, 1.5 + 0.75 * third]], rtol=1e-6)


def test_the_library_of_torchaudio_stands_for_these():
    for name in ("_torchaudio.abi3.so", "libtorchaudio.so"):
        ad.ops.load_library(f"/somewhere/torchaudio/lib/{name}")
    out = ad.zeros(1, 1, 3)
    ad.ops.torchaudio._lfilter_core_loop(ad.ones(1, 1, 2), ad.tensor([[-1.0, 1.0]]), out)
    assert out.flatten().tolist() == [0, 1, 2] and ad.ops._torchaudio.is_align_available() is False
