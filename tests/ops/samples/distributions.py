"""Samples of what random samples are differentiated with. What they give is random or has no derivative: tests/distributions has more."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import adjoint.ops.pathwise  # noqa: F401  (imported when first used; its ops are looked at here)
from tests.ops.samples import ErrorSample, Make, Sample, error_samples, samples


@samples("_standard_gamma_grad", ours="_standard_gamma_grad", torch="_standard_gamma_grad")
def gamma_slopes(make: Make) -> Iterator[Sample]:
    # PyTorch's own approximation is right to about four digits.
    yield Sample(make(3, 4, low=0.1, high=30), make(3, 4, low=0.1, high=30)).no_gradient().tolerance(2e-3)
    yield Sample(np.array([0.01, 0.5, 2.0, 300.0]), np.array([1e-9, 0.3, 5.0, 310.0])).no_gradient().tolerance(2e-3)


@samples("_dirichlet_grad", ours="_dirichlet_grad", torch="_dirichlet_grad")
def dirichlet_slopes(make: Make) -> Iterator[Sample]:
    alpha = make(3, 4, low=0.5, high=5)
    yield Sample(make(3, 4, low=0.1, high=0.9), alpha, alpha + make(3, 4, low=0.5, high=5)).no_gradient().tolerance(2e-3)


@samples("gamma_path", ours="ops.pathwise.gamma_path")
def gamma_paths(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=0.5, high=5), np.ones((3, 4))).not_in_torch().only_values()


@samples("dirichlet_path", ours="ops.pathwise.dirichlet_path")
def dirichlet_paths(make: Make) -> Iterator[Sample]:
    yield Sample(make(3, 4, low=0.5, high=5), np.full((3, 4), 0.25)).not_in_torch().only_values()


@samples("poisson", torch="poisson")
def certain_counts(make: Make) -> Iterator[Sample]:
    yield Sample(np.zeros((3, 4))).only_values()
    yield Sample(make(0, 3))


@error_samples("poisson")
def bad_rates(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "invalid Poisson rate, expected rate to be non-negative", np.array([-1.0]))
    yield ErrorSample(NotImplementedError, "\"poisson_cpu\" not implemented for 'Long'", np.array([1]))


@samples("binomial", torch="binomial")
def certain_successes(make: Make) -> Iterator[Sample]:
    yield Sample(np.array([3.0, 5.0]), np.array([1.0, 0.0])).no_gradient()  # PyTorch has no gradient by the probability
    yield Sample(np.array([3.0, 0.0]), np.array(1.0)).no_gradient()


@error_samples("binomial")
def bad_binomials(make: Make) -> Iterator[ErrorSample]:
    yield ErrorSample(ValueError, "binomial only supports floating-point dtypes for count, got: Long", np.array([1]), np.array([0.5]))
    yield ErrorSample(RuntimeError, "Found dtype Float but expected Double", np.array([1.0]), np.array([0.5], "f4"))
