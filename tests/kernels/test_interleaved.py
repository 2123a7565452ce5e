"""Complex arithmetic by vectors of numbers as they lie in memory: the same as NumPy, for all lengths, layouts and special numbers."""

import numpy as np
import pytest

import adjoint as ad

LENGTHS = [*range(1, 19), 33, 1001, 70_001]
SPECIAL = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]
FORMULAS = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b, "square": lambda a, b: a * a,
    "negative": lambda a, b: -a, "add number": lambda a, b: a + 2.5, "multiply by number": lambda a, b: a * -2.5,
    "subtract from number": lambda a, b: 2.5 - a, "divide by number": lambda a, b: a / 2.0, "divide": lambda a, b: a / b,
}  # fmt: skip


def numbers(shape, dtype, special=False, seed=0):
    random, z = np.random.default_rng(seed), np.empty(shape, dtype)
    for part in (z.real, z.imag):
        part[...] = random.choice(SPECIAL, shape) if special else random.normal(size=shape)
    return z


def agree(ours, expected):
    tolerance = 1e-5 if expected.dtype == np.complex64 else 1e-13
    assert ours.dtype == expected.dtype
    for part in ("real", "imag"):
        np.testing.assert_allclose(getattr(ours, part), getattr(expected, part), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", FORMULAS)
def test_every_length(name, dtype):
    formula = FORMULAS[name]
    for n in LENGTHS:
        x, y = numbers(n, dtype), numbers(n, dtype, seed=1)
        agree(formula(ad.tensor(x), ad.tensor(y)).numpy(), formula(x, y))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["add", "subtract", "negative"])
def test_infinite_parts_do_not_touch_the_other_ones(name, dtype):
    formula = FORMULAS[name]
    for n in (1, 7, 40, 1001):
        x, y = numbers(n, dtype, special=True), numbers(n, dtype, special=True, seed=1)
        agree(formula(ad.tensor(x), ad.tensor(y)).numpy(), formula(x, y))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply"])
def test_layouts(name, dtype):
    formula = FORMULAS[name]
    for n, m in ((1, 9), (5, 4), (17, 33)):
        x, y = numbers((2 * n, m), dtype), numbers((m, 2 * n), dtype, seed=1)
        a, b = ad.tensor(x), ad.tensor(y)
        agree(formula(a, b.T).numpy(), formula(x, y.T))
        agree(formula(a[::2], b.T[::2]).numpy(), formula(x[::2], y.T[::2]))
        agree(formula(a.reshape(-1)[1:], b.reshape(-1)[:-1]).numpy(), formula(x.reshape(-1)[1:], y.reshape(-1)[:-1]))
        for first, second in (((slice(None), slice(0, 1)), slice(None)), (slice(0, 1), slice(None)), ((0, 0), slice(None))):
            agree(formula(a[first], a[second]).numpy(), formula(x[first], x[second]))
            agree(formula(a[second], a[first]).numpy(), formula(x[second], x[first]))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", [1, 6, 37, 1001])
def test_in_place(n, dtype):
    x, y = numbers(2 * n, dtype), numbers(n, dtype, seed=1)
    a, b = ad.tensor(x), ad.tensor(y)
    a[:n].mul_(b).add_(a[n:]).sub_(b)
    agree(a.numpy(), np.concatenate([x[:n] * y + x[n:] - y, x[n:]]))
    b.mul_(b)
    agree(b.numpy(), y * y)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("dim", [None, 0, 1, (0, 2), -1])
@pytest.mark.parametrize("shape", [(3, 5, 2), (40, 17, 9), (2, 9000, 3)])
def test_sums_and_means_of_parts(shape, dim, dtype):
    x = numbers(shape, dtype)
    turned = ad.tensor(x.transpose(2, 0, 1).copy()).permute(1, 2, 0)
    for keepdim in (False, True):
        for given in (ad.tensor(x), turned):
            total, mean = (f(given, dim, keepdim) for f in (ad.sum, ad.mean))
            assert total.is_contiguous()
            np.testing.assert_allclose(total.numpy(), x.astype("complex128").sum(dim, keepdims=keepdim), rtol=1e-4, atol=1e-2)
            np.testing.assert_allclose(mean.numpy(), x.astype("complex128").mean(dim, keepdims=keepdim), rtol=1e-4, atol=1e-5)
