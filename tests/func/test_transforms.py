"""What transforms leave behind, and where adjoint goes further than PyTorch."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import adjoint as ad
from adjoint._layer import Layer, Level, levels
from adjoint.autograd.node import Node
from adjoint.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap


def close(got, expected):
    assert ad.allclose(got, ad.as_tensor(expected, dtype=got.dtype)), got


@pytest.mark.parametrize(
    "transformed",
    [
        grad(lambda x: (x**2).sum()), vmap(lambda x: x.sin()), lambda x: jvp(ad.sin, (x,), (x,)), lambda x: vjp(ad.sin, x)[1](x),
        jacrev(ad.sin),
        jacfwd(ad.sin), hessian(lambda x: x.exp().sum()), vmap(grad(ad.sin)), grad(lambda x: vmap(grad(ad.sin))(x).sum()),
    ],
)  # fmt: skip
def test_nothing_is_kept(transformed):
    def alive():
        gc.collect()
        return sum(issubclass(type(thing), ad.Tensor | Layer | Level | Node) for thing in gc.get_objects())

    x = ad.tensor([1.0, 2.0])
    transformed(x)
    before = alive()
    for _ in range(50):
        transformed(x)
    assert alive() <= before


def test_what_a_gradient_needed_is_freed_without_the_collector():
    kept = []

    def f(x):
        y = x.exp()
        kept.append(weakref.ref(y))
        return y.sum()

    gc.disable()
    try:
        grad(f)(ad.tensor([1.0, 2.0]))
        vmap(grad(f))(ad.ones(2, 3))
        assert [ref() for ref in kept] == [None, None]
    finally:
        gc.enable()


def test_vjp_keeps_its_graph_as_long_as_the_function_lives():
    kept = []

    def f(x):
        y = x.exp()
        kept.append(weakref.ref(y._data.value))
        return y * y

    _, pull = vjp(f, ad.tensor([0.0]))
    close(pull(ad.tensor([1.0]))[0], [2.0])
    assert kept[0]() is not None
    del pull
    gc.collect()
    assert kept[0]() is None


@pytest.mark.parametrize(
    "call", [lambda f: grad(f)(ad.ones(2)), lambda f: vmap(f)(ad.ones(2)), lambda f: jvp(f, (ad.ones(2),), (ad.ones(2),))]
)
def test_an_error_closes_the_level(call):
    def fails(x):
        assert levels()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        call(fails)
    assert levels() == ()


def test_threads_do_not_see_levels_of_others():
    seen = []

    def f(x):
        worker = threading.Thread(target=lambda: seen.append(levels()))
        worker.start()
        worker.join()
        return x.sum()

    grad(f)(ad.ones(2))
    assert seen == [()]


# ---- custom functions --------------------------------------------------------------------------------------------------------------------


class Cube(ad.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * t


def test_forward_over_forward_of_a_custom_function():
    x = ad.tensor([1.0, 2.0])
    first = lambda x: jvp(Cube.apply, (x,), (ad.ones(2),))[1]  # noqa: E731
    close(jvp(first, (x,), (ad.ones(2),))[1], [6.0, 12.0])
    close(jacfwd(jacfwd(Cube.apply))(x).sum((1, 2)), [6.0, 12.0])


@pytest.mark.parametrize(("outer", "inner"), [(a, b) for a in ("grad", "jvp", "vmap") for b in ("grad", "jvp", "vmap")])
def test_custom_as_the_same_of_ops(outer, inner):
    transforms = {
        "grad": lambda f: grad(lambda x: f(x).sum()),
        "jvp": lambda f: lambda x: jvp(f, (x,), (x + 1,))[1],
        "vmap": lambda f: lambda x: vmap(f)(ad.stack([x, x + 1])),
    }
    x = ad.tensor([1.0, 2.0], dtype=ad.float64)
    chain = lambda f: transforms[outer](transforms[inner](f))(x)  # noqa: E731
    close(chain(Cube.apply), chain(lambda x: x**3))


def test_generated_function_is_made_once_for_each_class():
    class Quartic(Cube):
        @staticmethod
        def forward(x):
            return x**4

    x = ad.tensor([1.0, 2.0])
    close(vmap(Cube.apply)(x), [1.0, 8.0])
    close(vmap(Quartic.apply)(x), [1.0, 16.0])
    made = Cube._generated
    vmap(Cube.apply)(x)
    assert Cube._generated is made
    assert Quartic._generated is not made


def test_node_of_a_generated_function_is_named_after_it():
    x = ad.tensor([1.0, 2.0], requires_grad=True)
    assert vmap(Cube.apply)(x).grad_fn.name() == "VmappedCubeBackward"


def test_dirty_inputs_in_a_batch():
    class Double(ad.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x.mul_(2)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_dirty(*inputs)

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    x = ad.tensor([1.0, 2.0])
    close(vmap(lambda x: Double.apply(x.clone()))(x), [2.0, 4.0])
    close(vmap(grad(lambda x: Double.apply(x * x)))(x), [4.0, 8.0])


def test_a_name_on_the_context_is_the_users():
    class Named(Cube):
        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.name = "mine"

    x = ad.tensor([1.0, 2.0], requires_grad=True)
    Named.apply(x).sum().backward()
    close(x.grad, [3.0, 12.0])


def test_vjp_instead_of_backward():
    class Tripled(ad.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vjp(ctx, g):
            return g * 3

    x = ad.tensor([1.0, 2.0])
    close(vmap(grad(Tripled.apply))(x), [3.0, 3.0])
    close(grad(lambda x: vmap(Tripled.apply)(x).sum())(x), [3.0, 3.0])


# ---- further than PyTorch ----------------------------------------------------------------------------------------------------------------


def test_negative_argnums_of_jacfwd():
    x, y = ad.tensor([1.0, 2.0]), ad.tensor([3.0, 4.0])
    close(jacfwd(lambda x, y: x * y, argnums=-1)(x, y), [[1.0, 0.0], [0.0, 2.0]])


def test_checkpoint_inside_grad():
    from adjoint.utils.checkpoint import checkpoint

    close(grad(lambda x: checkpoint(ad.exp, x, use_reentrant=False).sum())(ad.zeros(2)), [1.0, 1.0])


def test_hooks_on_saved_tensors_inside_grad():
    def f(x):
        with ad.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
            return x.exp().sum()

    with pytest.raises(RuntimeError, match="don't yet support saved tensor hooks"):
        grad(f)(ad.zeros(2))


def test_jvp_of_a_dual_number():
    fwd = ad.autograd.forward_ad
    with fwd.dual_level():
        x = fwd.make_dual(ad.tensor([1.0, 2.0]), ad.tensor([1.0, 1.0]))
        slope = jvp(lambda x: x**3, (x,), (ad.ones(2),))[1]
        close(fwd.unpack_dual(slope).tangent, [6.0, 12.0])


def test_batch_norm_in_training_inside_grad():
    norm = ad.nn.BatchNorm1d(2)
    x = ad.arange(8.0).reshape(4, 2)
    found = grad(lambda p: (functional_call(norm, p, (x,)) ** 2).sum())(dict(norm.named_parameters()))
    close(found["bias"], [0.0, 0.0])


def test_new_tensors_take_results():
    def matrix(x):
        made = ad.zeros(2, 2)
        made[0, 1] = x[0]
        made[1, 0] = x[1] * x[0]
        return made

    x = ad.tensor([2.0, 3.0])
    close(jacrev(matrix)(x), [[[0.0, 0.0], [1.0, 0.0]], [[3.0, 2.0], [0.0, 0.0]]])
    close(jacfwd(matrix)(x), [[[0.0, 0.0], [1.0, 0.0]], [[3.0, 2.0], [0.0, 0.0]]])
    close(hessian(lambda x: matrix(x).sum())(x), [[0.0, 1.0], [1.0, 0.0]])
    close(grad(lambda x: grad(lambda y: (matrix(y) ** 2).sum())(x).sum())(x), [2.0 + 18.0 + 24.0, 24.0 + 8.0])


@pytest.mark.parametrize("kind", [ad.nn.RNN, ad.nn.GRU, ad.nn.LSTM])
def test_second_derivatives_of_recurrent_layers(kind):
    """Forward over forward, and reverse over forward, agree."""
    layer = kind(3, 4).double()
    x, v = ad.randn(5, 3, dtype=ad.float64), ad.randn(5, 3, dtype=ad.float64)

    def slope(y):
        return jvp(lambda z: layer(z)[0].sin().sum(), (y,), (v,))[1]

    twice = jvp(slope, (x,), (v,))[1]
    assert ad.allclose(twice, (grad(slope)(x) * v).sum(), rtol=1e-9)


def test_view_made_in_inference_mode_has_no_tangent():
    """PyTorch refuses to make one inside a transform."""

    def f(x):
        with ad.inference_mode():
            first = x[0]
        return x * first

    assert ad.func.jvp(f, (ad.tensor([2.0, 3.0]),), (ad.ones(2),))[1].tolist() == [2.0, 2.0]
