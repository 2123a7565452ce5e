"""One formula for many tensors in place, by NumPy and by a compiled pass."""

import math

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn
from adjoint.autograd.together import MANY, change, in_blocks

SIZES = {"small": (3, 5), "large": (MANY, 7)}


def raised(numbers, x, y):
    return (x + numbers[0] * y,)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("dtype", [ad.float32, ad.float64])
def test_the_formula_holds_for_each_tensor_and_the_write_is_counted(sizes, dtype):
    tensors, others = ([ad.randn(size, dtype=dtype) for size in sizes] for _ in range(2))
    expected = [x.numpy() + 0.5 * y.numpy() for x, y in zip(tensors, others, strict=True)]
    versions = [x._version for x in tensors]
    change(tensors, raised, [0.5], others)
    for tensor, values, version in zip(tensors, expected, versions, strict=True):
        np.testing.assert_allclose(tensor.numpy(), values, rtol=1e-6)
        assert tensor._version == version + 1


def test_tensors_of_several_kinds_are_changed_too():
    tensors = [ad.ones(MANY), ad.ones(4, dtype=ad.float64), ad.ones(6, 4).t()]
    change(tensors, raised, [2.0], tensors)
    assert all((x == 3).all() for x in tensors)


def test_a_pass_takes_only_arrays_of_one_shape():
    assert in_blocks([np.ones(MANY, "f")], [np.ones(MANY - 1, "f")]) is None


@pytest.mark.parametrize("size", [8, MANY])
def test_not_a_number_stays_one_when_gradients_are_cut_off(size):
    p = nn.Parameter(ad.zeros(size))
    p.grad = ad.full((size,), 3.0)
    p.grad[0], p.grad[1] = math.nan, -math.inf
    nn.utils.clip_grad_value_([p], 0.5)
    assert math.isnan(p.grad[0].item()) and p.grad[1:3].tolist() == [-0.5, 0.5]


@pytest.mark.parametrize("size", [8, MANY])
def test_zero_grad_in_place_keeps_the_tensor_and_drops_a_history(size):
    p, q = nn.Parameter(ad.ones(size)), nn.Parameter(ad.ones(size))
    kept = p.grad = ad.full((size,), math.inf)
    (q.grad,) = ad.autograd.grad((q * q).sum(), q, create_graph=True)
    ad.optim.SGD([p, q], lr=0.1).zero_grad(set_to_none=False)
    assert p.grad is kept and not kept.any() and not q.grad.any() and not q.grad.requires_grad


@pytest.mark.parametrize("size", [8, MANY])
@pytest.mark.parametrize("decay", [0.9, 0.25])
def test_a_moving_average_is_what_lerp_gives(size, decay):
    start, end = ad.randn(size), ad.randn(size)
    counts = ad.tensor([4]), ad.tensor([8])
    expected = start.lerp(end, 1 - decay)
    ad.optim.swa_utils.get_ema_multi_avg_fn(decay)([start, counts[0]], [end, counts[1]], 3)
    np.testing.assert_allclose(start.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)
    assert counts[0].item() == int(4 * decay + 8 * (1 - decay))
