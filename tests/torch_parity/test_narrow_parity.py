"""Depthwise convolutions, distances, complex sums and other ops with kernels of their own, against PyTorch."""

import math

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")
LIBRARIES: tuple = (torch, ad)


def numbers(shape, dtype="float64", seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def agree(run, tolerance=1e-9):
    theirs, ours = (run(lib) for lib in LIBRARIES)
    for a, b in zip(ours, theirs, strict=True):
        a, b = a.detach().numpy(), b.detach().numpy()
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * float(np.abs(b).max(initial=1.0)))


def messages(run):
    found = []
    for lib in LIBRARIES:
        with pytest.raises(RuntimeError) as caught:
            run(lib)
        found.append(str(caught.value))
    return found


@pytest.mark.parametrize("multiplier", [1, 2])
@pytest.mark.parametrize("samples", [0, 1, 3])
@pytest.mark.parametrize("channels", [3, 8, 21])
@pytest.mark.parametrize("stride, padding, dilation", [(1, 1, 1), (2, 0, 1), (1, 3, 2), (3, 2, 3)])
def test_depthwise_convolutions(stride, padding, dilation, channels, samples, multiplier):
    def run(lib):
        x = lib.tensor(numbers((samples, channels, 13, 10))).requires_grad_()
        weight = lib.tensor(numbers((channels * multiplier, 1, 3, 3), seed=1)).requires_grad_()
        y = lib.nn.functional.conv2d(x, weight, None, stride, padding, dilation, channels)
        return [y, *lib.autograd.grad((y * y).sum(), [x, weight])]

    agree(run)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("width", [1, 17, 130])
@pytest.mark.parametrize("batches", [((), ()), ((2,), (2,)), ((3, 1), (1, 2))])
def test_distances_with_rows_that_coincide(batches, width, p):
    def run(lib):
        x, y = (numbers((*batch, n, width), seed=n) for batch, n in zip(batches, (9, 70), strict=True))
        x[..., 2, :] = y[..., 3, :] = 0.5
        x, y = lib.tensor(x).requires_grad_(), lib.tensor(y).requires_grad_()
        found = lib.cdist(x, y, p, compute_mode="donot_use_mm_for_euclid_dist")
        weights = lib.cos(lib.arange(found.numel(), dtype=lib.float64)).reshape(found.shape)
        return [found, *lib.autograd.grad(found, [x, y], weights)]

    agree(run)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("shape", [(2, 1), (9, 3), (70, 17), (8, 200)])
def test_pairs_with_rows_that_coincide(shape, p):
    def run(lib):
        x = numbers(shape)
        x[-1] = x[0]
        x = lib.tensor(x).requires_grad_()
        found = lib.nn.functional.pdist(x, p)
        return [found, *lib.autograd.grad(found, [x], lib.cos(lib.arange(found.numel(), dtype=lib.float64)))]

    agree(run)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_derivatives_of_distances(p):
    x, y = (ad.tensor(numbers((n, 3), seed=n)).requires_grad_() for n in (4, 5))
    assert ad.autograd.gradcheck(lambda x, y: ad.cdist(x, y, p), (x, y))
    assert ad.autograd.gradgradcheck(lambda x, y: ad.cdist(x, y, p), (x, y))
    assert ad.autograd.gradcheck(lambda x: ad.nn.functional.pdist(x, p), (x,))


@pytest.mark.parametrize("dtype, tolerance", [("complex64", 1e-5), ("complex128", 1e-12)])
@pytest.mark.parametrize("shape, dim", [((5,), 0), ((9000,), 0), ((300, 40), 0), ((300, 40), 1), ((300, 40), (0, 1)), ((0, 3), 0)])
def test_complex_sums(shape, dim, dtype, tolerance):
    z = (numbers(shape) + 1j * numbers(shape, seed=1)).astype(dtype)
    agree(lambda lib: [f(lib.tensor(z), dim) for f in (lib.sum, lib.mean)] if z.size else [lib.sum(lib.tensor(z), dim)], 10 * tolerance)


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_mode_along_a_dimension(dim, dtype):
    x = np.random.default_rng(0).integers(0, 4, (6, 9)).astype(dtype)
    for a, b in zip(ad.mode(ad.tensor(x), dim), torch.mode(torch.tensor(x), dim), strict=True):
        assert a.tolist() == b.tolist()


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("dim", [None, 0, 1])
def test_runs_with_all_options(dim, counts, inverse):
    x = np.random.default_rng(0).integers(0, 2, (6, 3))
    options = {"return_inverse": inverse, "return_counts": counts, "dim": dim}
    found = [lib.unique_consecutive(lib.tensor(x), **options) for lib in LIBRARIES]
    theirs, ours = (result if isinstance(result, tuple) else (result,) for result in found)
    assert [part.tolist() for part in ours] == [part.tolist() for part in theirs]


def test_messages():
    ours_of = [
        lambda lib: lib.inner(lib.ones(3), lib.ones(3, dtype=lib.float64)),
        lambda lib: lib.inner(lib.ones(2, 3), lib.ones(4)),
        lambda lib: lib.var_mean(lib.ones(3, dtype=lib.int64)),
        lambda lib: lib.std_mean(lib.ones(3, dtype=lib.bool)),
    ]
    for run in ours_of:
        theirs, ours = messages(run)
        assert ours.startswith(theirs.splitlines()[0][:45])
