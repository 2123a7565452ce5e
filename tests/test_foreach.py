"""`torch._foreach_*`: an op on each tensor of a list."""

import pytest

import adjoint as ad
from adjoint import _foreach
from adjoint.optim import optimizer
from adjoint.utils._foreach_utils import _group_tensors_by_device_and_dtype

NAMES = sorted(name for name in vars(_foreach) if name.startswith("_foreach_"))


@pytest.fixture
def tensors():
    return [ad.tensor([1.0, 4.0]), ad.tensor([9.0])]


def values(tensors):
    return [x.tolist() for x in tensors]


@pytest.mark.parametrize("name", _foreach.UNARY)
def test_one_argument(name, tensors):
    small = [x / 16 for x in tensors]
    expected = [getattr(ad, name)(x) for x in small]
    made = getattr(ad, f"_foreach_{name}")(small)
    assert isinstance(made, tuple) and all(map(ad.equal, made, expected))
    assert getattr(ad, f"_foreach_{name}_")(small) is small and all(map(ad.equal, small, expected))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max", "pow"])
def test_a_number_numbers_or_tensors_beside(name, tensors):
    function = {"maximum": "clamp_min", "minimum": "clamp_max"}
    others = [ad.tensor([2.0, 3.0]), ad.tensor([2.0])]
    for given, each in ((2.0, [2.0, 2.0]), ([2.0, 3.0], [2.0, 3.0]), (others, others), (ad.tensor(2.0),) * 2):
        rows = [each, each] if isinstance(each, ad.Tensor) else each
        expected = [
            getattr(ad, name if isinstance(y, ad.Tensor) else function.get(name, name))(x, y) for x, y in zip(tensors, rows, strict=True)
        ]
        assert all(map(ad.equal, getattr(ad, f"_foreach_{name}")(tensors, given), expected))
        written = [x.clone() for x in tensors]
        getattr(ad, f"_foreach_{name}_")(written, given)
        assert all(map(ad.equal, written, expected))


def test_the_names_that_arguments_may_have(tensors):
    assert values(ad._foreach_add(self=tensors, other=tensors, alpha=2)) == [[3.0, 12.0], [27.0]]
    assert values(ad._foreach_add(tensors, scalar=1)) == [[2.0, 5.0], [10.0]]
    assert values(ad._foreach_add(tensors, scalars=[1, 2])) == [[2.0, 5.0], [11.0]]
    assert values(ad._foreach_lerp(tensors, tensors1=tensors, weights=tensors)) == values(tensors)
    with pytest.raises(TypeError, match="invalid combination of arguments: give one of other, scalar, scalars"):
        ad._foreach_add(tensors, 1, scalar=2)


def test_three_lists(tensors):
    ones = [ad.ones(2), ad.ones(1)]
    assert values(ad._foreach_addcmul(tensors, ones, ones)) == [[2.0, 5.0], [10.0]]
    assert values(ad._foreach_addcdiv(tensors, ones, ones, value=2)) == [[3.0, 6.0], [11.0]]
    assert values(ad._foreach_addcdiv(tensors, ones, ones, [1, 2])) == [[2.0, 5.0], [11.0]]
    assert values(ad._foreach_addcmul(tensors, ones, ones, ad.tensor([1.0, 2.0]))) == [[2.0, 5.0], [11.0]]
    assert ad._foreach_addcmul_(tensors, ones, ones, value=-1) is tensors and values(tensors) == [[0.0, 3.0], [8.0]]
    assert values(ad._foreach_lerp(tensors, ones, 0.5)) == [[0.5, 2.0], [4.5]]


def test_the_others(tensors):
    assert values(ad._foreach_norm([ad.tensor([3.0, 4.0])])) == [5.0]
    assert ad._foreach_norm(tensors, 1, ad.float64)[0].dtype is ad.float64
    assert values(ad._foreach_powsum(tensors, 2)) == [17.0, 81.0]
    assert values(ad._foreach_max(tensors)) == [4.0, 9.0]
    assert values(ad._foreach_pow(2, tensors)) == [[2.0, 16.0], [512.0]]
    assert values(ad._foreach_mm([ad.ones(2, 2)], [ad.eye(2)])) == [[[1.0, 1.0], [1.0, 1.0]]]
    copies = ad._foreach_clone(tensors)
    assert values(ad._foreach_zero_(tensors)) == [[0.0, 0.0], [0.0]]
    assert ad._foreach_copy_(tensors, copies) is tensors and values(tensors) == [[1.0, 4.0], [9.0]]


def test_gradients_and_writes_are_those_of_the_ops(tensors):
    x = ad.ones(2, requires_grad=True)
    sum(y.sum() for y in ad._foreach_mul([x, x], [2.0, 3.0])).backward()
    assert x.grad.tolist() == [5.0, 5.0]
    version = tensors[0]._version
    ad._foreach_add_(tensors, 1)
    assert tensors[0]._version == version + 1
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        ad._foreach_add_([x], 1)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda t: ad._foreach_add([], 1), RuntimeError, "Tensor list must have at least one tensor"),
        (lambda t: ad._foreach_add(t, [1.0]), RuntimeError, "Tensor list must have same number of elements as scalar list"),
        (lambda t: ad._foreach_add(t, t[:1]), RuntimeError, "Tensor lists must have the same number of tensors, got 2 and 1"),
        (lambda t: ad._foreach_add(t, ad.ones(2)), RuntimeError, "scalar tensor expected to be 0 dim but it has 1 dimensions"),
        (lambda t: ad._foreach_add(t, 1, alpha=2), TypeError, "'alpha' is for tensors"),
        (lambda t: ad._foreach_add(t, "x"), TypeError, "received an invalid combination of arguments"),
        (lambda t: ad._foreach_abs(t[0]), TypeError, "argument 'self' .position 1. must be tuple of Tensors, not Tensor"),
        (lambda t: ad._foreach_abs([1.0]), TypeError, "expected Tensor as element 0 in argument 0, but got float"),
        (lambda t: ad._foreach_addcdiv(t, t, t, ad.tensor(1.0)), RuntimeError, "packed scalar Tensor to be of dimension 1"),
        (lambda t: ad._foreach_addcdiv(t, t, t, ad.ones(1)), RuntimeError, "match input of length 2 but got 1"),
        (lambda t: ad._foreach_max([ad.ones(0)]), RuntimeError, "_foreach_max cannot compute the maximum of an empty tensor"),
        (lambda t: ad._foreach_norm([ad.ones(0)], ad.inf), RuntimeError, "cannot compute the infinity norm on an empty tensor"),
    ],
)
def test_errors(call, error, words, tensors):
    with pytest.raises(error, match=words):
        call(tensors)
    assert values(tensors) == [[1.0, 4.0], [9.0]]


def test_groups():
    params, states = [ad.ones(1), ad.ones(2).double(), ad.ones(3)], [None, ad.ones(2), None]
    groups = _group_tensors_by_device_and_dtype([params, states, []], with_indices=True)
    lists, indices = groups[ad.device("cpu"), ad.float32]
    assert (lists[0][1] is params[2], lists[1], lists[2], indices) == (True, [None, None], [], [0, 2])
    with pytest.raises(RuntimeError, match="Expected lists of equal length"):
        _group_tensors_by_device_and_dtype([params, states[:1]])


def test_what_optimizers_import():
    class Plain(optimizer.Optimizer):
        def __init__(self, params, differentiable):
            super().__init__(params, {"differentiable": differentiable})

        @optimizer._use_grad_for_differentiable
        def step(self):
            return ad.is_grad_enabled()

    x = ad.ones(1, requires_grad=True)
    assert Plain([x], True).step() and not Plain([x], False).step()
    assert optimizer._get_value(ad.tensor(2.0)) == 2.0 and optimizer._dispatch_sqrt(4.0) == 2.0
    assert optimizer._default_to_fused_or_foreach([x], False, True) == (True, False)
    assert optimizer._get_scalar_dtype() is ad.float32
    params, grads = [ad.ones(2, dtype=ad.complex64)], [ad.ones(2, dtype=ad.complex64)]
    optimizer._view_as_real(params, grads)
    assert params[0].shape == grads[0].shape == (2, 2)
    with pytest.raises(RuntimeError, match="`fused=True` requires all the params to be floating point"):
        optimizer._device_dtype_check_for_fused(ad.ones(1, dtype=ad.int64))
    with pytest.raises(AttributeError, match="no attribute '_no_such_helper'"):
        optimizer._no_such_helper  # noqa: B018
