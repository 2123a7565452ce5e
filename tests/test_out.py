"""`out=`: where results go, and which dtypes are refused, in which words."""

from __future__ import annotations

from typing import Any

import pytest

import adjoint as ad

X = ad.tensor([[1.0, 5.0, 2.0], [7.0, 2.0, 9.0]])


@pytest.mark.parametrize(
    ("name", "args", "values"),
    [
        ("max", (X, 1), [5.0, 9.0]), ("min", (X, 1), [1.0, 2.0]), ("median", (X, 1), [2.0, 7.0]), ("nanmedian", (X, 1), [2.0, 7.0]),
        ("mode", (X, 1), [1.0, 2.0]), ("kthvalue", (X, 2, 1), [2.0, 7.0]),
    ],
)  # fmt: skip
def test_results_go_where_views_lie(name, args, values):
    target, places = ad.zeros(2, 3), ad.zeros(2, 3, dtype=ad.int64)
    result = getattr(ad, name)(*args, out=(target[:, 1], places[:, 1]))
    assert target.tolist() == [[0.0, values[0], 0.0], [0.0, values[1], 0.0]]
    assert result.values.tolist() == values
    assert places[:, 0].tolist() == [0, 0]
    assert X.gather(1, places[:, 1:2]).flatten().tolist() == values


def test_a_target_of_another_size_stays_where_it_begins():
    memory = ad.zeros(8)
    target = memory[2:4]
    with pytest.warns(UserWarning, match="was resized"):
        ad.sort(ad.tensor([3.0, 1.0, 2.0]), out=(target, ad.empty(0, dtype=ad.int64)))
    assert target.tolist() == [1.0, 2.0, 3.0]
    assert memory.tolist() == [0.0, 0.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "make",
    [lambda out: ad.arange(4, out=out), lambda out: ad.linspace(0, 3, 4, out=out), lambda out: ad.logspace(0, 3, 4, base=1, out=out)],
)
def test_numbers_in_a_row_fill_a_target_of_as_many_elements(make):
    memory = ad.full((2, 3), -1.0)
    target = memory.narrow(1, 1, 2)
    expected = make(ad.empty(0))
    assert make(target) is target
    assert target.shape == (2, 2)
    assert target.flatten().tolist() == expected.tolist()
    assert memory[:, 0].tolist() == [-1.0, -1.0]


def test_empty_writes_nothing():
    target = ad.ones(2, 2)
    assert ad.empty(2, 2, out=target) is target
    assert target.tolist() == [[1.0, 1.0], [1.0, 1.0]]


PAIR: dict[str, Any] = {"values": (ad.float64, ad.int64), "indices": (ad.float32, ad.int32)}


@pytest.mark.parametrize(
    ("name", "args", "which", "words"),
    [
        ("max", (1,), "values", "Expected out tensor to have dtype float, but got double instead"),
        ("max", (1,), "indices", "Expected out tensor to have dtype long int, but got int instead"),
        ("sort", (), "indices", "Expected out tensor to have dtype long int, but got int instead"),
        ("mode", (1,), "values", "expected scalar type 'Float' but got 'Double' for values output"),
        ("mode", (1,), "indices", "expected scalar type 'Long' but got 'Int' for indices output"),
        ("kthvalue", (1,), "values", "output values must be of same type as input"),
        ("cummax", (1,), "indices", "expected scalar_type Long but found Int"),
        ("median", (1,), "indices", "Expected tensor for argument #1 'indices' to have scalar type Long"),
    ],
)  # fmt: skip
def test_pairs_are_not_converted_and_nothing_is_written(name, args, which, words):
    out = tuple(ad.full((0,), 0, dtype=dtype) for dtype in PAIR[which])
    with pytest.raises(RuntimeError, match=words):
        getattr(ad, name)(X, *args, out=out)
    assert [x.numel() for x in out] == [0, 0]


@pytest.mark.parametrize("name", ["neg", "abs", "sign", "ceil", "floor", "trunc", "round", "frac", "sgn"])
def test_what_keeps_its_dtype_is_not_converted(name):
    with pytest.raises(RuntimeError, match="Found dtype Double but expected Float"):
        getattr(ad, name)(ad.ones(2), out=ad.empty(2, dtype=ad.float64))


@pytest.mark.parametrize(
    ("call", "dtype", "words"),
    [
        (lambda out: ad.all(X > 0, out=out), ad.float32, "all only supports bool tensor for result, got: Float"),
        (lambda out: ad.nonzero(X, out=out), ad.float32, "nonzero: Expected out tensor to have scalar type Long"),
        (lambda out: ad.quantile(X, 0.5, out=out), ad.float64, "quantile.. out tensor must be same dtype as the input tensor"),
        (lambda out: ad.logcumsumexp(X, 1, out=out), ad.int16, "expected scalar_type Float but found Short"),
        (lambda out: ad.sum(X, 1, dtype=ad.float64, out=out), ad.float32, "Expected out tensor to have dtype double, but got float"),
        (lambda out: ad.cumsum(X, 1, dtype=ad.float64, out=out), ad.float32, "Expected out tensor to have dtype double, but got float"),
        (lambda out: ad.isposinf(X, out=out), ad.float32, "isposinf does not support non-boolean outputs"),
        (lambda out: ad.fft.rfft(X, out=out), ad.float32, "rfft expects a complex output tensor, but got Float"),
        (lambda out: ad.fft.fft2(X, out=out), ad.float32, "fftn expects a complex output tensor, but got Float"),
        (lambda out: ad.fft.irfft(X, out=out), ad.int64, "irfft expects a floating point output tensor, but got Long"),
        (lambda out: ad.fft.fftfreq(4, out=out), ad.int64, "fftfreq requires a floating point or complex dtype"),
        (lambda out: ad.float_power(X, 2, out=out), ad.float32, "has dtype Float but the operation's result requires dtype Double"),
        (lambda out: ad.polar(X, X, out=out), ad.float32, "scalar type ComplexFloat but got scalar type Float for argument 'out'"),
    ],
)  # fmt: skip
def test_dtypes_that_are_refused(call, dtype, words):
    with pytest.raises(RuntimeError, match=words):
        call(ad.empty(0, dtype=dtype))


def test_cat_says_which_type_it_cannot_have():
    with pytest.raises(TypeError, match="input types can't be cast to the desired output type Long"):
        ad.cat([X, X], out=ad.empty(0, dtype=ad.int64))


def test_sums_are_computed_in_the_dtype_of_their_target():
    target = ad.empty(0, dtype=ad.int64)
    assert ad.sum(ad.tensor([1.7, 1.7]), 0, out=target).item() == 2
    assert ad.prod(ad.tensor([2.5, 2.5]), 0, out=target).item() == 4


def test_the_number_of_targets_is_checked():
    with pytest.raises(TypeError, match="expected tuple of 2 elements but got 1"):
        ad.max(X, 1, out=(ad.empty(0),))


def test_functions_of_matrices_and_orders_take_a_target():
    x = ad.tensor([[3.0, 1.0], [0.0, 2.0]])
    for call, targets in (
        (lambda out: ad.slogdet(x, out=out), (ad.empty(0), ad.empty(0))),
        (lambda out: ad.argsort(x, stable=True, out=out), ad.empty(0, dtype=ad.int64)),
        (lambda out: ad.frobenius_norm(x, 1, out=out), ad.empty(0)),
        (lambda out: ad.nuclear_norm(x, out=out), ad.empty(0)),
        (lambda out: ad.fft.fftfreq(4, out=out), ad.empty(0, dtype=ad.float64)),
    ):
        found, wanted = call(targets), call(None)
        pairs = [(found, wanted, targets)] if isinstance(targets, ad.Tensor) else zip(found, wanted, targets, strict=True)
        for one, other, target in pairs:
            assert one is target
            assert one.to(other.dtype).equal(other)
