"""What the samples of reductions do not say: node names, NumPy's argument names, warnings, numbers at the edge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad

X = ad.tensor([[1.0, 4.0, 2.0], [3.0, 0.0, 5.0]], requires_grad=True)


@pytest.mark.parametrize(
    ("result", "name"),
    [
        (X.sum(), "SumBackward0"),
        (X.sum(0), "SumBackward1"),
        (X.sum(dim=None, keepdim=True), "SumBackward1"),
        (X.mean(), "MeanBackward0"),
        (X.mean((0, 1)), "MeanBackward1"),
        (X.max(), "MaxBackward1"),
        (X.max(0).values, "MaxBackward0"),
        (X.max(X), "MaximumBackward0"),
        (X.median(), "MedianBackward0"),
        (X.median(0).values, "MedianBackward1"),
        (X.prod(), "ProdBackward0"),
        (X.prod(1), "ProdBackward1"),
        (X.norm(), "LinalgVectorNormBackward0"),
        (X @ X.T, "MmBackward0"),
        (X @ X[0], "MvBackward0"),
        (X[0] @ X[0], "DotBackward0"),
        (ad.nn.functional.linear(X, X, X[:, 0]), "AddmmBackward0"),
        (ad.nn.functional.linear(X, X), "MmBackward0"),
        (ad.nn.functional.cross_entropy(X, ad.tensor([0, 1])), "NllLossBackward0"),
        (X.cummax(0).values, "CummaxBackward0"),
    ],
)
def test_nodes_have_torchs_names(result: Any, name: str) -> None:
    assert result.grad_fn.name() == name


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "max", "prod", "all", "std", "logsumexp", "median", "nanmean", "norm"])
def test_axis_and_keepdims_stand_for_dim_and_keepdim(name: str) -> None:
    for function in (getattr(ad, name), lambda x, **options: getattr(x, name)(**options)):
        ours, numpys = function(X, dim=1, keepdim=True), function(X, axis=1, keepdims=True)
        assert ours[0].shape == numpys[0].shape
        assert (ours == numpys) if isinstance(ours, bool) else str(ours) == str(numpys)


def test_equal_extremes_share_the_gradient_or_the_first_takes_it() -> None:
    x = ad.tensor([2.0, 1.0, 2.0], requires_grad=True)
    for result, expected in ((x.max(), [0.5, 0, 0.5]), (x.amax(0), [0.5, 0, 0.5]), (x.max(0).values, [1, 0, 0])):
        (grad,) = ad.autograd.grad(result, x)
        assert grad.tolist() == expected


def test_the_norm_of_zero_has_no_slope() -> None:
    x = ad.zeros(3, requires_grad=True)
    for p in (1, 2, 3, 0.5, float("inf")):
        (grad,) = ad.autograd.grad(x.norm(p), x)
        assert grad.tolist() == [0, 0, 0]


def test_half_precision_is_summed_in_single() -> None:
    assert ad.ones(5000, dtype=ad.float16).sum().item() == 5000
    assert ad.ones(5000, dtype=ad.float16).cumsum(0)[-1].item() == 5000


def test_second_derivative_of_a_product_with_zeros() -> None:
    x = ad.tensor([0.0, 2.0, 3.0], dtype=ad.float64, requires_grad=True)
    (grad,) = ad.autograd.grad(x.prod(), x, create_graph=True)
    (second,) = ad.autograd.grad(grad.sum(), x)
    assert grad.tolist() == [6, 0, 0]
    assert second.tolist() == [5, 3, 2]


@pytest.mark.parametrize("dim", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("times", [1, 150], ids=["numpy", "kernels"])
def test_equal_numbers_have_no_variance(dim: Any, times: int) -> None:
    x = ad.full((7, 5, 30), 7.7)
    for _ in range(times):
        found = ad.var(x, dim), ad.std(x, dim)
    assert not any(result.any() for result in found)
    leaf = x.requires_grad_()
    ad.std(leaf, dim).sum().backward()
    assert not leaf.grad.any()


def test_a_variance_without_degrees_of_freedom_warns() -> None:
    with pytest.warns(UserWarning, match=r"var\(\): degrees of freedom is <= 0. Correction should be strictly less"):
        assert np.isnan(ad.ones(1).var().item())
    assert ad.ones(1).var(correction=0).item() == 0


def test_several_dims_of_max_are_refused_with_the_way_out() -> None:
    with pytest.raises(TypeError, match=r"(?s)max\(\) received an invalid combination of arguments.*fix: x.amax"):
        X.max((0, 1))


def test_out_of_a_pair() -> None:
    values, indices = ad.empty(0), ad.empty(0, dtype=ad.int64)
    result = ad.max(X.detach(), 0, out=(values, indices))
    assert result.values is values
    assert (values.tolist(), indices.tolist()) == ([3, 4, 5], [1, 0, 1])
    with pytest.raises(RuntimeError, match=r"functions with out=\.\.\. arguments don't support automatic differentiation"):
        ad.max(X, 0, out=(values, indices))


def test_quantiles_have_a_slope_in_the_fraction() -> None:
    q = ad.tensor(0.3, requires_grad=True)
    ad.tensor([0.0, 10.0, 30.0]).quantile(q).backward()
    assert q.grad is not None
    assert q.grad.item() == pytest.approx(20)
