"""Anomaly mode: backward stops at the node where the first NaN was born, and names the line that recorded it."""

from __future__ import annotations

import warnings

import pytest

import adjoint as ad


@pytest.fixture
def watched():
    with warnings.catch_warnings(action="ignore"), ad.autograd.detect_anomaly():
        yield


def test_off_by_default():
    assert not ad.is_anomaly_enabled()
    x = ad.zeros(1, requires_grad=True)
    (x.sqrt() * 0).sum().backward()
    assert x.grad.isnan().all()


def test_nan_is_refused_where_it_is_born(watched):
    x = ad.zeros(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"):
        (x.sqrt() * 0).sum().backward()
    assert x.grad is None


def test_second_input_is_counted_too(watched):
    x, y = ad.ones(1, requires_grad=True), ad.zeros(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="Function 'MulBackward0' returned nan values in its 1th output"):
        (x * float("nan") * y).sum().backward()


def test_healthy_graphs_pass(watched):
    x = ad.ones(2, requires_grad=True)
    (x.sqrt().log() * 3).sum().backward()
    assert x.grad.tolist() == [1.5, 1.5]


def test_infinity_is_not_a_nan(watched):
    x = ad.zeros(1, requires_grad=True)
    x.sqrt().sum().backward()
    assert x.grad.isinf().all()


def test_autograd_grad_and_create_graph(watched):
    x = ad.zeros(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="SqrtBackward0"):
        ad.autograd.grad((x.sqrt() * 0).sum(), x, create_graph=True)


def test_custom_function(watched):
    class Bad(ad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * float("nan")

    x = ad.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="Function 'BadBackward' returned nan values in its 0th output"):
        Bad.apply(x).backward()


def test_check_nan_false_lets_nan_pass():
    x = ad.zeros(1, requires_grad=True)
    with warnings.catch_warnings(action="ignore"), ad.autograd.detect_anomaly(check_nan=False):
        assert ad.is_anomaly_enabled()
        assert not ad.is_anomaly_check_nan_enabled()
        (x.sqrt() * 0).sum().backward()
    assert x.grad.isnan().all()
    assert ad.is_anomaly_check_nan_enabled()


def test_detect_anomaly_warns_and_restores():
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        mode = ad.autograd.detect_anomaly()
    assert not ad.is_anomaly_enabled()  # made, not entered
    with pytest.raises(KeyError), mode:
        assert ad.is_anomaly_enabled()
        raise KeyError
    assert not ad.is_anomaly_enabled()


def test_set_detect_anomaly_acts_at_once_or_for_a_block():
    ad.autograd.set_detect_anomaly(True)
    assert ad.is_anomaly_enabled()
    ad.autograd.set_detect_anomaly(False)
    assert not ad.is_anomaly_enabled()
    with ad.autograd.set_detect_anomaly(True):
        assert ad.is_anomaly_enabled()
        with ad.autograd.set_detect_anomaly(False):
            assert not ad.is_anomaly_enabled()
        assert ad.is_anomaly_enabled()
    assert not ad.is_anomaly_enabled()


def test_set_detect_anomaly_check_nan():
    with ad.autograd.set_detect_anomaly(True, check_nan=False):
        assert not ad.is_anomaly_check_nan_enabled()
    assert ad.is_anomaly_check_nan_enabled()


def test_error_inside_backward_passes_through(watched):
    x = ad.ones(1, requires_grad=True)
    y = x * 2

    def fail(gradient):
        raise KeyError("hook")

    y.register_hook(fail)
    with pytest.raises(KeyError, match="hook"):
        y.backward()
