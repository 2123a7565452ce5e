"""`autograd.functional` and `gradcheck` against PyTorch: the same values, structures and verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")

# PyTorch's own forward mode warns about PyTorch's own code.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")

LIBRARIES = (ad, torch)
rng = np.random.default_rng(0)
X, Y, W = rng.uniform(0.5, 1.5, 3), rng.uniform(0.5, 1.5, (2, 3)), rng.uniform(0.5, 1.5, (3, 2))


def leaves(result):
    """The arrays of a nested structure, in order."""
    if isinstance(result, tuple | list):
        return [leaf for item in result for leaf in leaves(item)]
    return [result.detach().numpy()]


def same(call):
    ours, theirs = (leaves(call(library)) for library in LIBRARIES)
    assert [a.shape for a in ours] == [b.shape for b in theirs]
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def tensors(library, *arrays):
    made = tuple(library.tensor(a) for a in arrays)
    return made[0] if len(made) == 1 else made


# name: (function of tensors, arrays of the inputs)
FUNCTIONS: dict[str, Any] = {
    "elementwise": (lambda t: lambda a: a * a * a, [X]),
    "exp": (lambda t: lambda a: a.exp() * a, [X]),
    "linear": (lambda t: lambda a: a * 2, [X]),
    "matrix": (lambda t: lambda a, b: a @ b, [Y, W]),
    "broadcast": (lambda t: lambda a, b: a * b, [X, Y]),
    "two outputs": (lambda t: lambda a, b: (a.sum() * b, a * a), [X, Y]),
    "unused input": (lambda t: lambda a, b: a * a, [X, Y]),
    "constant": (lambda t: lambda a: t.ones(2, dtype=t.float64), [X]),
    "scalar": (lambda t: lambda a, b: (a.exp() * b).sum(), [X, Y]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_jacobian(name, strategy):
    func, arrays = FUNCTIONS[name]
    same(
        lambda t: t.autograd.functional.jacobian(
            func(t), tensors(t, *arrays), strategy=strategy, vectorize=strategy == "forward-mode"
        )
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_vjp(name):
    func, arrays = FUNCTIONS[name]
    outputs = func(torch)(*(torch.tensor(a) for a in arrays))
    vectors = [np.full(out.shape, 0.5) for out in (outputs if isinstance(outputs, tuple) else (outputs,))]
    same(lambda t: t.autograd.functional.vjp(func(t), tensors(t, *arrays), tensors(t, *vectors)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jvp(name):
    func, arrays = FUNCTIONS[name]
    same(lambda t: t.autograd.functional.jvp(func(t), tensors(t, *arrays), tensors(t, *(np.cos(a) for a in arrays))))


SCALARS = {
    "cube": (lambda a: (a * a * a).sum(), [X]),
    "linear": (lambda a: a.sum(), [X]),
    "mixed": (lambda a, b: (a.exp() * b).sum() * b.sum(), [X, Y]),
    "matrix": (lambda a, b: (a @ b).exp().sum(), [Y, W]),
    "unused": (lambda a, b: (a * a).sum(), [X, Y]),
}


@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.parametrize("product", ["hvp", "vhp"])
def test_products_with_the_hessian(name, product):
    func, arrays = SCALARS[name]
    vectors = [np.cos(a) for a in arrays]
    same(lambda t: getattr(t.autograd.functional, product)(func, tensors(t, *arrays), tensors(t, *vectors)))


@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.parametrize("vectorize", [False, True])
def test_hessian(name, vectorize):
    func, arrays = SCALARS[name]
    same(lambda t: t.autograd.functional.hessian(func, tensors(t, *arrays), vectorize=vectorize))


@pytest.mark.parametrize("name", ["cube", "mixed"])
def test_third_derivatives_through_the_hessian(name):
    func, arrays = SCALARS[name]

    def third(t):
        points = [t.tensor(a, requires_grad=True) for a in arrays]
        blocks = t.autograd.functional.hessian(func, tuple(points), create_graph=True)
        return t.autograd.grad(sum(block.sum() for row in blocks for block in row), points)

    same(third)


def test_complex_products():
    z = X + 1j * np.cos(X)
    same(lambda t: t.autograd.functional.jvp(lambda a: a * a * a, t.tensor(z), t.tensor(z.conj())))
    same(lambda t: t.autograd.functional.vjp(lambda a: a * a * a, t.tensor(z), t.tensor(z.conj())))


# ---- errors open with the same words --------------------------------------------------------------------------------------------------


def cut(a):
    return a.detach() * 2


ERRORS = [
    lambda t, x, F: F.vjp(lambda a: a, [x]),
    lambda t, x, F: F.jvp(lambda a: a, (x, 3)),
    lambda t, x, F: F.vjp(lambda a: 3, x),
    lambda t, x, F: F.vjp(lambda a: a, x),
    lambda t, x, F: F.jvp(lambda a: a, x),
    lambda t, x, F: F.vjp(lambda a: a, x, t.ones(2)),
    lambda t, x, F: F.vjp(lambda a: (a, a), x, (x,)),
    lambda t, x, F: F.vjp(lambda a: (a, a), x, (x, t.ones(2))),
    lambda t, x, F: F.vjp(lambda a: a, x, (x, x)),
    lambda t, x, F: F.vjp(lambda a: a, x, 3),
    lambda t, x, F: F.hvp(lambda a: (a, a), x, x),
    lambda t, x, F: F.vhp(lambda a: a * 2, x, x),
    lambda t, x, F: F.hessian(lambda a: a * 2, x),
    lambda t, x, F: F.hessian(lambda a: 3, x),
    lambda t, x, F: F.hessian(lambda a: a.sum(), x, strict=True),
    lambda t, x, F: F.hvp(lambda a: a.sum(), x, x, strict=True),
    lambda t, x, F: F.vhp(lambda a: (a * a).sum(), x, x, strict=True, create_graph=True),
    lambda t, x, F: F.jacobian(cut, x, strict=True),
    lambda t, x, F: F.jacobian(lambda a, b: a, (x, x), strict=True),
    lambda t, x, F: F.jacobian(lambda a: a * 2, x, strict=True, create_graph=True),
    lambda t, x, F: F.jacobian(lambda a: a, x, strict=True, vectorize=True),
    lambda t, x, F: F.jacobian(lambda a: a, x, strategy="sideways"),
    lambda t, x, F: F.jvp(lambda a, b: a, (x, x), (x, x), strict=True),
    lambda t, x, F: F.jvp(cut, x, x, strict=True),
]


@pytest.mark.parametrize("call", ERRORS)
def test_errors_open_with_the_same_words(call):
    found = []
    for library in LIBRARIES:
        with pytest.raises(Exception) as caught:
            call(library, library.tensor(X), library.autograd.functional)
        found.append(caught.value)
    ours, theirs = found
    assert isinstance(ours, type(theirs))
    assert str(ours)[:60] == str(theirs)[:60]


# ---- gradcheck ------------------------------------------------------------------------------------------------------------------------


def custom(t, backward):
    class Custom(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

    Custom.backward = staticmethod(lambda ctx, g: backward(t, g, *ctx.saved_tensors))
    return Custom.apply


VERDICTS = {
    "right": lambda t, g, x: 2 * x * g,
    "twice": lambda t, g, x: 4 * x * g,
    "absent": lambda t, g, x: None,
    "wrong second derivative": lambda t, g, x: 2 * x.detach() * g,
    "offset": lambda t, g, x: 2 * x * g + 1e-7,
    "within tolerance": lambda t, g, x: 2 * x * g * (1 + 1e-4),
}


@pytest.mark.parametrize("check", ["gradcheck", "gradgradcheck"])
@pytest.mark.parametrize("fast_mode", [False, True], ids=["slow", "fast"])
@pytest.mark.parametrize("name", VERDICTS)
def test_gradcheck_comes_to_the_same_verdict(name, fast_mode, check):
    verdicts = [
        getattr(t.autograd, check)(
            custom(t, VERDICTS[name]), t.tensor(X, requires_grad=True), raise_exception=False, fast_mode=fast_mode
        )
        for t in LIBRARIES
    ]
    assert verdicts[0] == verdicts[1]


def test_gradcheck_prints_the_same_jacobians():
    messages = []
    for t in LIBRARIES:
        with pytest.raises(RuntimeError) as caught:
            t.autograd.gradcheck(custom(t, VERDICTS["twice"]), t.tensor(X, requires_grad=True))
        messages.append(str(caught.value))
    ours, theirs = messages
    assert ours.startswith(theirs.rstrip("\n"))
