"""gradcheck must accept right derivatives and, above all, refuse wrong ones."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.autograd import Function, gradgradcheck
from adjoint.autograd.gradcheck import GradcheckError, gradcheck


def leaf(*shape, dtype=ad.float64, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.5, 1.5, shape)
    if dtype.is_complex:
        values = values + 1j * rng.uniform(0.5, 1.5, shape)
    return ad.tensor(values, dtype=dtype, requires_grad=True)


def custom(forward, backward, jvp=None):
    """A Function that saves its inputs; the rules get them."""

    class Custom(Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)
            return forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return backward(g, *ctx.saved_tensors)

        @staticmethod
        def jvp(ctx, *tangents):
            return jvp(*ctx.saved_tensors, *tangents)

    return Custom.apply


square = custom(lambda x: x * x, lambda g, x: 2 * x.conj() * g, lambda x, t: 2 * x * t)


# ---- right derivatives --------------------------------------------------------------------------------------------------------------

RIGHT = {
    "polynomial": (lambda x: x * x * x + 2 * x, 1),
    "two inputs": (lambda x, y: x * y + y * y, 2),
    "two outputs": (lambda x: (x * x, (x * x * x).sum()), 1),
    "broadcast": (lambda x, y: x * y.sum(), 2),
    "custom": (square, 1),
    "identity": (lambda x: x, 1),
    "no tensor depends on it": (lambda x, y: x * 2, 2),
    "an output without gradient": (lambda x: (x * 2, x.detach()), 1),
    "matrix product": (lambda x, y: x @ y, 2),
}


@pytest.mark.parametrize("dtype", [ad.float64, ad.complex128], ids=str)
@pytest.mark.parametrize("fast_mode", [False, True], ids=["slow", "fast"])
@pytest.mark.parametrize("name", RIGHT)
def test_right_derivatives_pass(name, fast_mode, dtype):
    func, count = RIGHT[name]
    inputs = [leaf(2, 2, dtype=dtype, seed=i) for i in range(count)]
    assert gradcheck(func, inputs, fast_mode=fast_mode) is True
    assert gradgradcheck(func, inputs, fast_mode=fast_mode) is True


@pytest.mark.parametrize("dtype", [ad.float64, ad.complex128], ids=str)
@pytest.mark.parametrize("fast_mode", [False, True], ids=["slow", "fast"])
@pytest.mark.parametrize("name", ["polynomial", "two inputs", "two outputs", "custom", "matrix product"])
def test_right_forward_mode_passes(name, fast_mode, dtype):
    func, count = RIGHT[name]
    inputs = [leaf(2, 2, dtype=dtype, seed=i) for i in range(count)]
    assert gradcheck(func, inputs, check_forward_ad=True, fast_mode=fast_mode)
    if name != "custom":
        assert gradgradcheck(func, inputs, check_fwd_over_rev=True, fast_mode=fast_mode)


def test_complex_to_real_and_back():
    z = leaf(2, 2, dtype=ad.complex128)
    x = leaf(2, 2)
    assert gradcheck(lambda z: z.abs(), z, check_forward_ad=True)
    assert gradcheck(lambda z: z.conj() * z, z, check_forward_ad=True)
    assert gradcheck(lambda x: x * (1 + 2j), x, check_forward_ad=True)
    assert gradcheck(lambda x, z: x * z, (x, z), check_forward_ad=True)


def test_inputs_keep_their_values_and_get_no_grad():
    x = leaf(3)
    before = x.tolist()
    gradcheck(lambda x: x * x, x)
    assert x.tolist() == before
    assert x.grad is None
    assert x._version == 0


def test_a_tensor_that_the_function_holds_by_itself_is_perturbed_too():
    weight = leaf(3)
    assert gradcheck(lambda x, w: x * weight, (leaf(3, seed=1), weight))


def test_inputs_that_need_no_gradient_are_left_alone():
    assert gradcheck(lambda x, n, y: x * n * y, (leaf(2), 3, ad.ones(2, dtype=ad.float64)))


def test_non_contiguous_and_empty_inputs():
    assert gradcheck(lambda x: x * x, leaf(2, 3).detach().T.requires_grad_())
    assert gradcheck(lambda x: x * x, leaf(0, 3))
    assert gradcheck(lambda x, y: x.sum() * y, (leaf(0), leaf(2)))


def test_random_gradients_can_be_non_contiguous_or_given():
    x = leaf(2, 3)
    strides = []

    class Spy(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            strides.append(g.is_contiguous())
            return g * 2

    assert gradgradcheck(Spy.apply, x, gen_non_contig_grad_outputs=True)
    assert not strides[0]
    assert gradgradcheck(lambda x: x * x, x, ad.ones(2, 3, dtype=ad.float64))


# ---- wrong derivatives --------------------------------------------------------------------------------------------------------------


def wrong_at_one(g, x):
    right = 2 * x * g
    mask = ad.ones_like(x)
    mask[1] = 1.01
    return right * mask


WRONG = {
    "factor": (custom(lambda x: x * x, lambda g, x: x * g), "analytical is 0.5 times numerical"),
    "sign": (custom(lambda x: x * x, lambda g, x: -2 * x * g), "the sign is wrong"),
    "one element": (custom(lambda x: x * x, wrong_at_one), "1 of 9 elements differ; worst: d output[1] / d input[1]"),
    "missing": (custom(lambda x: x * x, lambda g, x: None), "analytical is zero everywhere"),
    "detached": (lambda x: x * x.detach(), "0.5 times"),
    "not finite": (custom(lambda x: x * x, lambda g, x: g * ad.tensor(float("nan"), dtype=x.dtype)), "not finite although"),
    "extra": (custom(lambda x: x.sum() * 0, lambda g, x: g * x), "numerical is zero everywhere"),
}


@pytest.mark.parametrize("fast_mode", [False, True], ids=["slow", "fast"])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_backward_is_refused(name, fast_mode):
    func, hint = WRONG[name]
    with pytest.raises(GradcheckError) as caught:
        gradcheck(func, leaf(3), fast_mode=fast_mode)
    message = str(caught.value)
    assert message.startswith("Jacobian mismatch for output 0 with respect to input 0,\nnumerical:")
    assert "\nanalytical:" in message
    assert hint in message
    assert gradcheck(func, leaf(3), fast_mode=fast_mode, raise_exception=False) is False


def test_the_message_shows_the_jacobians_as_pytorch_does():
    with pytest.raises(GradcheckError) as caught:
        gradcheck(custom(lambda x: x * 2, lambda g, x: g * 3), ad.tensor([1.0, 2.0], dtype=ad.float64, requires_grad=True))
    assert str(caught.value).startswith(
        "Jacobian mismatch for output 0 with respect to input 0,\n"
        "numerical:tensor([[2.0000, 0.0000],\n        [0.0000, 2.0000]], dtype=torch.float64)\n"
        "analytical:tensor([[3., 0.],\n        [0., 3.]], dtype=torch.float64)\n"
    )


def test_the_message_names_output_and_input():
    wrong = custom(lambda x, y: x * y, lambda g, x, y: (g * y, g * x * 2))
    with pytest.raises(GradcheckError, match="mismatch for output 1 with respect to input 1,"):
        gradcheck(lambda x, y: (x * y, wrong(x, y)), (leaf(2), leaf(2, seed=1)))


def test_missing_gradient_of_one_input():
    func = custom(lambda x, y: x * y, lambda g, x, y: (g * y, None))
    with pytest.raises(GradcheckError, match=r"with respect to input 1,[\s\S]*analytical is zero everywhere"):
        gradcheck(func, (leaf(2), leaf(2, seed=1)))


def test_transposed_gradients_are_recognised():
    matrix = leaf(3, 3).detach()
    func = custom(lambda x: matrix @ x, lambda g, x: matrix @ g)
    with pytest.raises(GradcheckError, match=r"analytical is the transposed of numerical"):
        gradcheck(func, leaf(3, seed=1))
    func = custom(lambda x: (x * matrix).sum(), lambda g, x: g * matrix.T)
    with pytest.raises(GradcheckError, match=r"the gradient is transposed"):
        gradcheck(func, leaf(3, 3, seed=1))


def test_conjugated_gradients_are_recognised():
    func = custom(lambda z: z * z, lambda g, z: 2 * z * g)
    with pytest.raises(GradcheckError, match="While considering the imaginary part of complex outputs only, Jacobian mismatch"):
        gradcheck(func, leaf(2, dtype=ad.complex128))
    func = custom(lambda z: (z * z).abs().sum(), lambda g, z: 2 * z.conj() * g)
    with pytest.raises(GradcheckError, match="analytical is the complex conjugate of numerical"):
        gradcheck(func, leaf(2, dtype=ad.complex128))


def test_wrong_second_derivative_is_refused():
    class WrongTwice(Function):
        """Its backward is right, but not the derivative of its backward."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * x.detach() * g

    x = leaf(3)
    assert gradcheck(WrongTwice.apply, x)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0,"):
        gradgradcheck(WrongTwice.apply, x)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0,"):
        gradgradcheck(WrongTwice.apply, x, fast_mode=True)
    assert gradgradcheck(WrongTwice.apply, x, raise_exception=False) is False


@pytest.mark.parametrize("fast_mode", [False, True], ids=["slow", "fast"])
def test_wrong_jvp_is_refused(fast_mode):
    func = custom(lambda x: x * x, lambda g, x: 2 * x * g, lambda x, t: 3 * x * t)
    assert gradcheck(func, leaf(3), fast_mode=fast_mode)
    with pytest.raises(GradcheckError, match=r"Jacobian computed with forward mode mismatch for output 0 [\s\S]*1.5 times"):
        gradcheck(func, leaf(3), check_forward_ad=True, fast_mode=fast_mode)
    with pytest.raises(GradcheckError, match="Jacobian computed with forward mode mismatch for output 0"):
        gradcheck(func, leaf(3), check_forward_ad=True, check_backward_ad=False, fast_mode=fast_mode)
    with pytest.raises(GradcheckError, match="While considering the imaginary part of complex inputs only, Jacobian computed with"):
        gradcheck(lambda z: func(z).abs(), leaf(3, dtype=ad.complex128), check_forward_ad=True, check_backward_ad=False)


def test_a_backward_alone_is_not_checked_when_only_forward_mode_is():
    func = custom(lambda x: x * x, lambda g, x: x * g, lambda x, t: 2 * x * t)
    assert gradcheck(func, leaf(3), check_forward_ad=True, check_backward_ad=False)


def test_wrong_dtype_is_refused_where_asked(monkeypatch):
    # What a backward returns is brought to the dtype of its input, so the mistake has to be made behind the engine's back.
    right = ad.autograd.grad
    module = sys.modules[GradcheckError.__module__]  # where gradients are compared
    monkeypatch.setattr(module, "grad", lambda *args, **kwargs: tuple(g.float() for g in right(*args, **kwargs)))
    assert gradcheck(lambda x: x * x, leaf(2), check_undefined_grad=False)
    with pytest.raises(GradcheckError, match=r"Gradient has dtype torch.float32, but input 0 has dtype torch.float64"):
        gradcheck(lambda x: x * x, leaf(2), check_grad_dtypes=True)


def test_a_kernel_may_take_over_between_two_runs_of_a_backward():
    calls = []

    def changing_once(g, x):
        calls.append(1)
        return 2 * x * g * (1 + 1e-15 * (len(calls) == 1))

    assert gradcheck(custom(lambda x: x * x, changing_once), leaf(2))
    assert len(calls) > 2


def test_nondeterministic_backward_is_refused():
    calls = []

    def drifting(g, x):
        calls.append(1)
        return 2 * x * g * (1 + 1e-9 * len(calls))

    func = custom(lambda x: x * x, drifting)
    with pytest.raises(GradcheckError, match=r"Backward is not reentrant, i.e., running backward with same input"):
        gradcheck(func, leaf(2))
    with pytest.raises(GradcheckError, match=r"The tolerance for nondeterminism was 0\.0"):
        gradcheck(func, leaf(2), fast_mode=True)
    assert gradcheck(func, leaf(2), nondet_tol=1e-3)


def test_backward_must_be_multiplied_by_grad_output():
    func = custom(lambda x: x * x, lambda g, x: 2 * x * g + 1e-7)
    with pytest.raises(GradcheckError, match="backward not multiplied by grad_output"):
        gradcheck(func, leaf(2))


class TakesNone(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2  # fails where g is None


class InventsGradient(TakesNone):
    @staticmethod
    def backward(ctx, g):
        return ad.ones(2, dtype=ad.float64) if g is None else g * 2


def test_undefined_gradients():
    for func, message in (
        (TakesNone, "Expected backward function to handle undefined output grads"),
        (InventsGradient, "Expected all input grads to be undefined or zero when all output grads are undefined"),
    ):
        with pytest.warns(UserWarning, match="check_undefined_grad=False"), pytest.raises(GradcheckError, match=message):
            gradcheck(func.apply, leaf(2))
    assert gradcheck(TakesNone.apply, leaf(2), check_undefined_grad=False)
    assert gradcheck(InventsGradient.apply, leaf(2), check_undefined_grad=False)


def test_an_output_without_history_must_not_depend_on_the_input():
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: (x * x).detach(), leaf(2))
    assert gradcheck(lambda x: x.detach() * 0, leaf(2))
    assert gradcheck(lambda x: x > 0, leaf(2))


def test_outputs_must_keep_their_shape():
    sizes = iter(range(1, 100))
    with pytest.raises(AssertionError, match="Expected `func` to return outputs with the same shape when inputs are perturbed"):
        gradcheck(lambda x: x[: next(sizes) % 3 + 1], leaf(3))


# ---- hints about the finite difference ----------------------------------------------------------------------------------------------


def test_a_kink_is_suspected():
    x = ad.tensor([1.0, 0.0], dtype=ad.float64, requires_grad=True)
    relu = custom(lambda x: x.clamp(min=0), lambda g, x: g * (x > 0))
    with pytest.raises(GradcheckError, match=r"may have a kink.*slope is 0 from below and 1 from above"):
        gradcheck(relu, x)


def test_a_step_that_is_too_large_is_recognised():
    x = ad.tensor([0.1], dtype=ad.float64, requires_grad=True)
    with pytest.raises(GradcheckError, match=r"the difference shrinks from .* with eps=0.001"):
        gradcheck(lambda x: x.exp() * x * x * x * x, x, eps=0.1)
    with pytest.raises(GradcheckError, match="the difference does not shrink with another eps: the gradient is wrong"):
        gradcheck(custom(lambda x: x * x, lambda g, x: g * x), x)


# ---- arguments ----------------------------------------------------------------------------------------------------------------------


def test_single_precision_warns():
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision floating point or complex"):
        assert gradcheck(lambda x: x * x, leaf(2, dtype=ad.float32), eps=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"check_backward_ad": False}, "Expected at least one of check_forward_ad or check_backward_ad to be True"),
        ({"check_batched_forward_grad": True}, "Setting check_batched_forward_grad=True requires check_forward_ad to be True"),
        (
            {"check_batched_grad": True, "check_backward_ad": False, "check_forward_ad": True},
            "Setting check_batched_grad=True requires check_backward_ad to be True",
        ),
    ],
)
def test_contradicting_arguments(kwargs, message):
    with pytest.raises(AssertionError, match=message):
        gradcheck(lambda x: x, leaf(2), **kwargs)


def test_contradicting_arguments_of_gradgradcheck():
    with pytest.raises(AssertionError, match="Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"):
        gradgradcheck(lambda x: x, leaf(2), check_rev_over_rev=False)


def test_inputs_that_cannot_be_checked():
    with pytest.raises(ValueError, match="gradcheck expects at least one input tensor to require gradient"):
        gradcheck(lambda x: x, ad.ones(2, dtype=ad.float64))
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        gradcheck(lambda x: x, ad.ones(1, dtype=ad.float64).expand(3).requires_grad_())


def test_the_module_stands_for_the_function():
    module: Any = sys.modules["adjoint.autograd.gradcheck"]
    assert module(lambda x: x * x, leaf(2))
    assert ad.autograd.gradcheck in (module, gradcheck)
