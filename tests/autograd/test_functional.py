"""Jacobians, Hessians and products with them, against formulas that can be checked by hand."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.autograd import functional as F
from adjoint.autograd import gradcheck

x = ad.tensor([1.0, 2.0, 3.0], dtype=ad.float64)
y = ad.tensor([2.0, 5.0], dtype=ad.float64)
ones = ad.ones(3, dtype=ad.float64)


def cube_sum(a):
    return (a * a * a).sum()


def mixed(a, b):
    return (a * a).sum() * b.sum()


def close(found, expected):
    np.testing.assert_allclose(found.detach().numpy(), np.asarray(expected, dtype=float))


# ---- products -----------------------------------------------------------------------------------------------------------------------


def test_vjp_is_the_vector_times_the_jacobian():
    out, product = F.vjp(lambda a, b: a.sum() * b, (x, y), ad.tensor([1.0, 10.0], dtype=ad.float64))
    close(out, [12, 30])
    assert isinstance(product, tuple)
    close(product[0], [2 + 50] * 3)
    close(product[1], [6, 60])


def test_vjp_of_several_outputs():
    outputs, product = F.vjp(lambda a: (a * 2, a * a), x, (ones, ones * 10))
    assert len(outputs) == 2
    close(product, 2 + 20 * x.numpy())


def test_jvp_is_the_jacobian_times_the_vector():
    outputs, product = F.jvp(lambda a, b: (a.sum() * b, a * a), (x, y), (ones, ad.ones(2, dtype=ad.float64)))
    close(outputs[1], [1, 4, 9])
    close(product[0], [3 * 2 + 6, 3 * 5 + 6])
    close(product[1], [2, 4, 6])


def test_jvp_of_a_linear_function():
    close(F.jvp(lambda a: a * 2, x, x)[1], [2, 4, 6])
    close(F.jvp(lambda a: a.sum(), x, x)[1], 6)


@pytest.mark.parametrize("product", [F.hvp, F.vhp])
def test_products_with_the_hessian(product):
    out, found = product(cube_sum, x, ad.tensor([1.0, 0.0, 2.0], dtype=ad.float64))
    close(out, 36)
    close(found, [6, 0, 36])
    out, found = product(mixed, (x, y), (ones, ad.tensor([1.0, 0.0], dtype=ad.float64)))
    close(out, 14 * 7)
    close(found[0], 2 * 7 + 2 * x.numpy())
    close(found[1], [12, 12])


def test_v_may_be_left_out_for_one_number():
    one = ad.tensor([3.0])
    assert F.vjp(lambda a: a * a, one)[1].tolist() == [6.0]
    assert F.jvp(lambda a: a * a, one)[1].tolist() == [6.0]
    assert F.hvp(lambda a: (a * a).sum(), one)[1].tolist() == [2.0]
    assert F.vhp(lambda a: (a * a).sum(), one)[1].tolist() == [2.0]


# ---- jacobian and hessian -----------------------------------------------------------------------------------------------------------

STRATEGIES = [
    {},
    {"vectorize": True},
    {"strategy": "forward-mode", "vectorize": True},
    {"create_graph": True},
]


@pytest.mark.parametrize("options", STRATEGIES, ids=str)
def test_jacobian_has_the_shape_of_output_and_input(options):
    a = ad.arange(6, dtype=ad.float64).reshape(2, 3)
    found = F.jacobian(lambda a: a.sum(0) * 2, a, **options)
    assert found.shape == (3, 2, 3)
    close(found, 2 * np.broadcast_to(np.eye(3)[:, None], (3, 2, 3)))


@pytest.mark.parametrize("options", STRATEGIES, ids=str)
def test_jacobian_of_several_outputs_and_inputs(options):
    found = F.jacobian(lambda a, b: (a.sum() * b, a * a), (x, y), **options)
    assert [[block.shape for block in row] for row in found] == [[(2, 3), (2, 2)], [(3, 3), (3, 2)]]
    close(found[0][0], [[2] * 3, [5] * 3])
    close(found[0][1], 6 * np.eye(2))
    close(found[1][0], np.diag([2, 4, 6]))
    close(found[1][1], np.zeros((3, 2)))


def test_structure_follows_inputs_and_outputs():
    assert isinstance(F.jacobian(lambda a: a, x), ad.Tensor)
    assert isinstance(F.jacobian(lambda a: a, (x,)), tuple)
    assert isinstance(F.jacobian(lambda a: (a,), x), tuple)
    assert isinstance(F.jacobian(lambda a: (a,), (x,))[0], tuple)


def test_jacobian_of_nothing():
    empty = ad.zeros(0, dtype=ad.float64)
    assert F.jacobian(lambda a: a * 2, empty).shape == (0, 0)
    assert F.jacobian(lambda a: a.sum() * x, empty).shape == (3, 0)
    assert F.jacobian(lambda a: empty * a.sum(), x).shape == (0, 3)


@pytest.mark.parametrize(("strategy", "vectorize"), [("reverse-mode", False), ("reverse-mode", True), ("forward-mode", True)])
def test_hessian(strategy, vectorize):
    options = {"outer_jacobian_strategy": strategy, "vectorize": vectorize}
    close(F.hessian(cube_sum, x, **options), np.diag(6 * x.numpy()))
    found = F.hessian(mixed, (x, y), **options)
    close(found[0][0], 14 * np.eye(3))
    close(found[0][1], np.broadcast_to(2 * x.numpy()[:, None], (3, 2)))
    close(found[1][0], np.broadcast_to(2 * x.numpy(), (2, 3)))
    close(found[1][1], np.zeros((2, 2)))


def test_hessian_of_one_element_that_is_not_a_scalar():
    close(F.hessian(lambda a: (a * a).sum().reshape(1, 1), x), 2 * np.eye(3))


# ---- the graph ----------------------------------------------------------------------------------------------------------------------


def test_results_are_cut_off_by_default_and_inputs_left_alone():
    leaf = x.clone().requires_grad_()
    for found in (
        *F.vjp(lambda a: a * a, leaf, ones),
        *F.jvp(lambda a: a * a, leaf, ones),
        *F.hvp(cube_sum, leaf, ones),
        *F.vhp(cube_sum, leaf, ones),
        F.jacobian(lambda a: a * a, leaf),
        F.hessian(cube_sum, leaf),
    ):
        assert not found.requires_grad
    assert leaf.grad is None
    assert not x.requires_grad


def test_create_graph_connects_results_to_the_inputs():
    leaf = x.clone().requires_grad_()
    F.jacobian(lambda a: a * a * a, leaf, create_graph=True).sum().backward()
    close(leaf.grad, 6 * x.numpy())
    leaf.grad = None
    F.hessian(cube_sum, leaf, create_graph=True).sum().backward()
    close(leaf.grad, [6, 6, 6])


def test_what_forward_mode_cannot_do():
    for options, kind, words in (
        ({"create_graph": True, "vectorize": True}, NotImplementedError, "`create_graph=True` and `strategy=\"forward-mode\"`"),
        ({"strict": True}, RuntimeError, "`strict=True` and `strategy=\"forward-mode\"`"),
        ({}, NotImplementedError, "only implemented for `vectorize=True`"),
    ):
        with pytest.raises(kind, match=words):
            F.jacobian(cube_sum, x, strategy="forward-mode", **options)


def test_products_can_be_differentiated():
    leaf = ad.tensor([0.5, -1.0], dtype=ad.float64, requires_grad=True)
    v = ad.tensor([1.5, 2.0], dtype=ad.float64, requires_grad=True)
    assert gradcheck(lambda a, v: F.vjp(lambda a: a * a * a, a, v, create_graph=True)[1], (leaf, v))
    assert gradcheck(lambda a, v: F.jvp(lambda a: a * a * a, a, v, create_graph=True)[1], (leaf, v))
    assert gradcheck(lambda a, v: F.hvp(lambda a: (a * a * a).sum(), a, v, create_graph=True)[1], (leaf, v))
    assert gradcheck(lambda a, v: F.vhp(lambda a: (a * a * a).sum(), a, v, create_graph=True)[1], (leaf, v))


def test_works_under_no_grad():
    with ad.no_grad():
        close(F.jacobian(lambda a: a * a, x), np.diag([2, 4, 6]))
        close(F.hvp(cube_sum, x, ones)[1], 6 * x.numpy())


# ---- strict mode --------------------------------------------------------------------------------------------------------------------

CONSTANT = "Output 0 of the user-provided function does not require gradients"
UNUSED = "The output of the user-provided function is independent of input 1. This is not allowed in strict mode."
LINEAR = "While computing the hessian, found that the jacobian of the user-provided function with respect to input 0 is independent"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda strict: F.vjp(lambda a: x * 2, x, ones, strict=strict), CONSTANT),
        (lambda strict: F.jvp(lambda a: x * 2, x, ones, strict=strict), CONSTANT),
        (lambda strict: F.hvp(lambda a: x.sum(), x, ones, strict=strict), CONSTANT),
        (lambda strict: F.vhp(lambda a: x.sum(), x, ones, strict=strict), CONSTANT),
        (lambda strict: F.jacobian(lambda a: x * 2, x, strict=strict), CONSTANT),
        (lambda strict: F.hessian(lambda a: x.sum(), x, strict=strict), CONSTANT),
        (lambda strict: F.vjp(lambda a, b: a, (x, y), ones, strict=strict), UNUSED),
        (lambda strict: F.jvp(lambda a, b: a * a, (x, y), (ones, y), strict=strict), UNUSED),
        (lambda strict: F.hvp(lambda a, b: cube_sum(a), (x, y), (ones, y), strict=strict), UNUSED),
        (lambda strict: F.vhp(lambda a, b: cube_sum(a), (x, y), (ones, y), strict=strict), UNUSED),
        (
            lambda strict: F.jacobian(lambda a, b: a, (x, y), strict=strict),
            "Output 0 of the user-provided function is independent of input 1. This is not allowed in strict mode.",
        ),
        (
            lambda strict: F.jacobian(lambda a: a * 2, x, strict=strict, create_graph=True),
            "The jacobian of the user-provided function is independent of input 0. This is not allowed in strict mode when create_graph",
        ),
        (
            lambda strict: F.vjp(lambda a: a * 2, x, ones, strict=strict, create_graph=True),
            "The jacobian of the user-provided function is independent of input 0. This is not allowed in strict mode when create_graph",
        ),
        (lambda strict: F.hessian(lambda a: a.sum(), x, strict=strict), LINEAR),
        (lambda strict: F.hvp(lambda a: a.sum(), x, ones, strict=strict), LINEAR),
        (lambda strict: F.vhp(lambda a: a.sum(), x, ones, strict=strict), LINEAR),
        (
            lambda strict: F.vhp(lambda a: (a * a).sum(), x, ones, strict=strict, create_graph=True),
            "The hessian of the user-provided function is independent of input 0. This is not allowed in strict mode",
        ),
    ],
)
def test_strict_mode_refuses_what_does_not_depend_on_the_input(call, message):
    call(False)
    with pytest.raises(RuntimeError, match=message):
        call(True)


# ---- arguments ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["vjp", "jvp", "hvp", "vhp"])
def test_arguments_of_products(name):
    product = getattr(F, name)
    func = (lambda a: a * a) if name in ("vjp", "jvp") else cube_sum
    scalar = ad.tensor(1.0)
    with pytest.raises(TypeError, match=f"The inputs given to {name} must be either a Tensor or a tuple of Tensors but the given"):
        product(func, [x])
    with pytest.raises(TypeError, match=f"The inputs given to {name} must be .* but the value at index 1 has type <class 'int'>"):
        product(func, (x, 3))
    with pytest.raises(TypeError, match=f"The outputs of the user-provided function given to {name} must be"):
        product(lambda a: 3, scalar)
    if name in ("vjp", "jvp"):
        with pytest.raises(RuntimeError, match=r"v has invalid size: should be torch.Size\(\[3\]\) but got torch.Size\(\[2\]\)"):
            product(func, x, y)
    with pytest.raises(RuntimeError, match="The vector v can only be None if"):
        product(lambda a: (a, a) if name == "vjp" else func(a), x)
    if name in ("hvp", "vhp"):
        with pytest.raises(RuntimeError, match=f"The function given to {name} should return a single Tensor"):
            product(lambda a: (a, a), scalar)
        with pytest.raises(RuntimeError, match=f"The Tensor returned by the function given to {name} should contain a single element"):
            product(lambda a: a * a, x, ones)


def test_number_of_vectors():
    with pytest.raises(RuntimeError, match="The given v should contain a single Tensor"):
        F.vjp(lambda a: a, x, (x, x))
    with pytest.raises(RuntimeError, match="v is a tuple of invalid length: should be 2 but got 1"):
        F.vjp(lambda a: (a, a), x, x)
    with pytest.raises(RuntimeError, match="Entry 1 in v has invalid size"):
        F.vjp(lambda a: (a, a), x, (x, y))


def test_arguments_of_jacobian_and_hessian():
    with pytest.raises(AssertionError, match='Expected strategy to be either "forward-mode" or "reverse-mode"'):
        F.jacobian(lambda a: a, x, strategy="backwards")
    with pytest.raises(AssertionError, match='Expected strategy to be either "forward-mode" or "reverse-mode"'):
        F.hessian(cube_sum, x, outer_jacobian_strategy="backwards")
    with pytest.raises(RuntimeError, match="`strict=True` and `vectorized=True` are not supported together"):
        F.jacobian(lambda a: a, x, strict=True, vectorize=True)
    with pytest.raises(RuntimeError, match="The function given to hessian should return a single Tensor"):
        F.hessian(lambda a: (a.sum(), a.sum()), x)
    with pytest.raises(RuntimeError, match="The Tensor returned by the function given to hessian should contain a single element"):
        F.hessian(lambda a: a, x)
    with pytest.raises(TypeError, match="The inputs given to hessian must be either a Tensor or a tuple of Tensors"):
        F.hessian(cube_sum, [x])
