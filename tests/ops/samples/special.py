"""Samples of the special functions that PyTorch has in `torch.special` only and without derivatives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import adjoint.special  # noqa: F401  (its ops are registered when it is first used)
from tests.ops.samples import ErrorSample, Make, Sample, error_samples, samples

EDGES = np.array([0.0, 1e-8, 2.0, 8.0, np.nan])

for _name in (
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1", "spherical_bessel_j0",
):  # fmt: skip

    @samples(_name, torch=f"special.{_name}", ours=f"special.{_name}")
    def of_one_argument(make: Make) -> Iterator[Sample]:
        # PyTorch's polynomials are good to 3e-6 only for some of these.
        yield Sample(make(3, 5, low=-6.0, high=2.0)).tolerance(2e-4)
        yield Sample(make(40, low=0.0, high=40.0)).tolerance(2e-4)
        yield Sample(make(4, low=1, high=5, dtype="int64")).tolerance(2e-4)
        yield Sample(EDGES.copy()).tolerance(2e-4)
        yield Sample(np.zeros((2, 0)))

    @error_samples(_name)
    def complex_numbers(make: Make) -> Iterator[ErrorSample]:
        yield ErrorSample(NotImplementedError, "not implemented for 'ComplexDouble'", make(2, dtype="complex128"))


for _name in (
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "hermite_polynomial_h",
    "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w",
):  # fmt: skip

    @samples(_name, torch=f"special.{_name}", ours=f"special.{_name}")
    def of_a_degree(make: Make) -> Iterator[Sample]:
        yield Sample(make(3, 6), np.arange(6)).tolerance(1e-3)
        yield Sample(make(3, 6), 3).tolerance(1e-3)
        yield Sample(0.25, np.arange(5, dtype=np.float64)).tolerance(1e-3)
        yield Sample(make(4), -1)
        yield Sample(make(2, 0), 2)
