"""Factors of sums (`alpha`, `beta`, `value`): tensors without dimensions stand for numbers, and the old order of arguments warns."""

import pytest

import adjoint as ad


@pytest.mark.parametrize(
    "call",
    [
        lambda x: ad.add(x, 2, x),
        lambda x: x.clone().add_(2, x),
        lambda x: x.sub(2, x),
        lambda x: ad.addcmul(x, 2, x, x),
        lambda x: x.clone().addcmul_(2, x, x),
        lambda x: x.addcdiv(2, x, x),
        lambda x: x.clone().addcdiv_(2, x, x),
        lambda x: ad.addmm(2, x, x, x),
    ],
)
def test_factors_before_tensors_warn(call):
    with pytest.warns(UserWarning, match="This overload of .* is deprecated"):
        call(ad.ones(2, 2))


@pytest.mark.parametrize("two", [lambda: ad.tensor(2.0), lambda: ad.tensor(2)])
def test_a_tensor_without_dimensions_is_a_factor(two):
    x = ad.ones(2, 2)
    assert ad.add(x, x, alpha=two()).tolist() == [[3.0, 3.0]] * 2
    assert x.clone().sub_(x, alpha=two()).tolist() == [[-1.0, -1.0]] * 2
    assert ad.addcmul(x, x, x, value=two()).tolist() == [[3.0, 3.0]] * 2
    assert x.clone().addcmul_(x, x, value=two()).tolist() == [[3.0, 3.0]] * 2
    assert ad.addmm(x, x, x, beta=two(), alpha=two()).tolist() == [[6.0, 6.0]] * 2
    with pytest.raises(TypeError, match="must be Number, not Tensor"):
        ad.add(x, x, alpha=x)
    y = ad.ones(2, requires_grad=True)
    ad.addcmul(y, y, y, value=two()).sum().backward()
    assert y.grad.tolist() == [5.0, 5.0]


@pytest.mark.parametrize("dtype", [ad.float16, ad.bfloat16])
def test_a_number_beside_half_precision_is_rounded_to_it(dtype):
    x = ad.tensor([0.3], dtype=dtype)
    for _ in range(3):
        assert (x == 0.3).all() and not (x > 0.3).any() and (x - 0.3 == 0).all() and (x % 0.3 == 0).all()
        assert (x == ad.tensor(0.3)).all()
    assert ad.tensor([0.1], dtype=ad.float16).mul(1e5).isfinite().all()  # which a factor is not


def test_a_list_of_arrays_warns():
    import numpy as np

    with pytest.warns(UserWarning, match="extremely slow"):
        assert ad.tensor([np.ones(2), np.zeros(2)]).shape == (2, 2)
