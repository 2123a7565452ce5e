"""Samples of short-time Fourier transforms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.samples import ErrorSample, Make, Sample, error_samples, samples


@samples("stft")
def pieces(make: Make) -> Iterator[Sample]:
    yield Sample(make(2, 20), 8, return_complex=True)
    yield Sample(make(20), 8, 3, 6, make(6, low=0.5), False, "reflect", True, False, return_complex=True)
    yield Sample(make(20), 8, return_complex=False)
    yield Sample(make(20, dtype="complex128"), 8)


@error_samples("stft")
def wrong_pieces(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "stft requires the return_complex parameter be given for real inputs", make(20), 8)
    yield ErrorSample(RuntimeError, "expected a 1D or 2D tensor", make(1, 1, 20), 8, return_complex=True)


@samples("istft")
def signals(make: Make) -> Iterator[Sample]:
    spectrum = np.fft.rfft(make(2, 6, 8), axis=-1).swapaxes(-1, -2)
    yield Sample(spectrum, 8)
    yield Sample(spectrum, 8, 2, 6, make(6, low=0.5), normalized=True, length=9)
    yield Sample(spectrum[0], 8, center=False)


@error_samples("istft")
def wrong_signals(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "istft requires a complex-valued input tensor", make(5, 3, 2), 8)
