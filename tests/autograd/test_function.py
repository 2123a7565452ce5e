"""Custom functions: both ways to write them, everything `ctx` offers, derivatives of derivatives, forward mode."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import adjoint as ad
from adjoint.autograd import Function, gradcheck, gradgradcheck
from adjoint.autograd import forward_ad as fwAD
from adjoint.autograd.function import once_differentiable


def double(*values):
    return ad.tensor(values, dtype=ad.float64, requires_grad=True)


class Cube(Function):
    """In one piece."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


class CubeSplit(Function):
    """In two: forward knows no ctx."""

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


class CubeVjp(Function):
    """With PyTorch's other name for backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def vjp(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


@pytest.mark.parametrize("cube", [Cube, CubeSplit, CubeVjp])
def test_both_styles(cube):
    x = double(1.0, 2.0)
    y = cube.apply(x)
    assert y.tolist() == [1.0, 8.0]
    assert not y.is_leaf
    assert y.grad_fn.name() == f"{cube.__name__}Backward"
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]


@pytest.mark.parametrize("cube", [Cube, CubeSplit, CubeVjp])
def test_double_backward(cube):
    x = double(1.0, 2.0)
    y = cube.apply(x)
    for expected in ([3.0, 12.0], [6.0, 12.0], [6.0, 6.0]):
        (y,) = ad.autograd.grad(y.sum(), x, create_graph=True)
        assert y.tolist() == expected


@pytest.mark.parametrize("cube", [Cube, CubeSplit])
def test_gradcheck(cube):
    assert gradcheck(cube.apply, double(0.3, -1.2))
    assert gradgradcheck(cube.apply, double(0.3, -1.2))


def test_without_grad_no_node():
    assert Cube.apply(ad.ones(2)).grad_fn is None
    with ad.no_grad():
        y = Cube.apply(double(1.0))
    assert y.grad_fn is None
    assert not y.requires_grad


def test_forward_runs_without_recording():
    seen = []

    class Look(Function):
        @staticmethod
        def forward(ctx, x):
            seen.append((ad.is_grad_enabled(), (x * 2).requires_grad, x.requires_grad))
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(ad.is_grad_enabled())
            return g * 2

    x = double(1.0)
    Look.apply(x).backward()
    ad.autograd.grad(Look.apply(x), x, create_graph=True)
    assert seen == [(False, False, True), False, (False, False, True), True]


def test_several_inputs_and_outputs():
    class SumAndProduct(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x + y, x * y

        @staticmethod
        def backward(ctx, gs, gp):
            x, y = ctx.saved_tensors
            return gs + gp * y, gs + gp * x

    x, y = double(2.0), double(5.0)
    total, product = SumAndProduct.apply(x, y)
    assert total.grad_fn is product.grad_fn
    assert (total.output_nr, product.output_nr) == (0, 1)
    (total * 10 + product).backward()
    assert (x.grad.item(), y.grad.item()) == (15.0, 12.0)
    assert gradcheck(SumAndProduct.apply, (double(0.5, 2.0), double(1.5, -1.0)))
    assert gradgradcheck(SumAndProduct.apply, (double(0.5, 2.0), double(1.5, -1.0)))


def test_arguments_that_are_not_tensors():
    class Scale(Function):
        @staticmethod
        def forward(ctx, x, factor, name=None):
            ctx.factor, ctx.name_given = factor, name
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor, None, None

    x = double(1.0)
    y = Scale.apply(x, 3.0, "name")
    assert y.grad_fn.name_given == "name"  # the node shows what ctx holds
    y.backward()
    assert x.grad.item() == 3.0


def test_keyword_arguments():
    class Scale(Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x, factor)
            return x * factor

        @staticmethod
        def backward(ctx, g):
            x, factor = ctx.saved_tensors
            return g * factor, g * x

    x, factor = double(2.0), double(5.0)
    Scale.apply(x, factor=factor).backward()
    assert (x.grad.item(), factor.grad.item()) == (5.0, 2.0)


def test_methods_need_not_be_marked_static():
    class Scale(Function):
        def forward(ctx, x):  # type: ignore[override]
            return x * 3

        def backward(ctx, g):  # type: ignore[override]
            return g * 3

    x = double(2.0)
    Scale.apply(x).backward()
    assert x.grad.item() == 3.0


def test_trailing_nones_may_be_too_many():
    class Identity(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g, None, None

    x = double(1.0)
    Identity.apply(x).backward()
    assert x.grad.item() == 1.0


def test_none_stops_the_gradient():
    class Stop(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g, None

    x, y = double(1.0), double(2.0)
    Stop.apply(x, y).backward()
    assert x.grad.item() == 1.0
    assert y.grad is None


def test_needs_input_grad():
    seen = []

    class Look(Function):
        @staticmethod
        def forward(ctx, x, number, y):
            seen.append(ctx.needs_input_grad)
            return x + y

        @staticmethod
        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            return g, None, g

    x = double(1.0)
    Look.apply(x, 3, ad.ones(1)).sum().backward()
    assert seen == [(True, False, False), (True, False, False)]


def test_mark_non_differentiable():
    class Sort(Function):
        @staticmethod
        def forward(ctx, x):
            values, order = x.sort()
            ctx.mark_non_differentiable(order)
            ctx.save_for_backward(order)
            return values, order

        @staticmethod
        def backward(ctx, g, g_order):
            (order,) = ctx.saved_tensors
            return ad.zeros_like(g).index_add_(0, order, g)

    x = double(3.0, 1.0, 2.0)
    values, order = Sort.apply(x)
    assert values.requires_grad
    assert not order.requires_grad
    assert order.tolist() == [1, 2, 0]
    (values * ad.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [100.0, 1.0, 10.0]


def test_mark_non_differentiable_of_a_float_output():
    class Split(Function):
        @staticmethod
        def forward(ctx, x):
            rest = x * 100
            ctx.mark_non_differentiable(rest)
            return x * 2, rest

        @staticmethod
        def backward(ctx, g, g_rest):
            assert g_rest.abs().sum() == 0
            return g * 2

    x = double(1.0)
    y, rest = Split.apply(x)
    assert not rest.requires_grad
    (y + rest).sum().backward()
    assert x.grad.item() == 2.0


@pytest.mark.parametrize("materialize", [True, False])
def test_set_materialize_grads(materialize):
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, ga, gb):
            if materialize:
                assert gb.tolist() == [0.0]
            else:
                assert gb is None
            return ga

    x = double(1.0)
    a, _ = Two.apply(x)
    a.backward()
    assert x.grad.item() == 1.0


def test_gradients_are_fitted_to_their_inputs():
    class Wide(Function):
        @staticmethod
        def forward(ctx, x):
            return x.expand(3, 2) * 1

        @staticmethod
        def backward(ctx, g):
            return g.double()  # neither the shape nor the dtype of the input, but it can be brought there

    x = ad.ones(2, requires_grad=True)
    Wide.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert x.grad.dtype == ad.float32


def test_returning_an_input_makes_a_view_of_it():
    class Identity(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 10

    x = double(1.0)
    y = Identity.apply(x)
    assert y is not x
    assert y.grad_fn is not None
    y.backward()
    assert x.grad.item() == 10.0
    plain = ad.ones(1)
    assert Identity.apply(plain).data_ptr() == plain.data_ptr()


def test_saved_output():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y

    assert gradcheck(Exp.apply, double(0.5, -1.0))
    assert gradgradcheck(Exp.apply, double(0.5, -1.0))
    x = double(0.5)
    y = Exp.apply(x)
    alive = weakref.ref(y)
    del y  # no cycle through the saved output
    assert alive() is None


def test_saved_tensor_that_was_written_is_refused():
    x = double(2.0)
    y = x * 1
    z = Cube.apply(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_saved_output_that_was_written_is_refused():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y

    y = Exp.apply(double(0.5))
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_saved_tensors_are_freed_by_backward():
    y = Cube.apply(double(2.0))
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_saved_tensors_can_be_read_from_the_node():
    x = double(2.0)
    y = Cube.apply(x)
    assert y.grad_fn.saved_tensors[0] is x


def test_save_none():
    class Maybe(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * 2 if y is None else x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return (g * 2, None) if y is None else (g * y, g * x)

    x = double(3.0)
    Maybe.apply(x, None).backward()
    assert x.grad.item() == 2.0
    Maybe.apply(x, double(5.0)).backward()
    assert x.grad.item() == 7.0


# ----- mark_dirty -----


class Doubled(Function):
    """Doubles its input in place."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_mark_dirty():
    x = double(1.0, 2.0)
    y = x * 1
    z = Doubled.apply(y)
    assert z is y
    assert y.tolist() == [2.0, 4.0]
    assert y._version == 2  # mul_ counts, and so does the mark
    assert y.grad_fn.name() == "DoubledBackward"
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_mark_dirty_of_a_leaf_is_refused():
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        Doubled.apply(double(1.0))


def test_mark_dirty_of_a_view():
    x = double(1.0, 2.0)
    y = x * 1
    Doubled.apply(y[0:1])
    assert y.tolist() == [2.0, 2.0]
    assert type(y.grad_fn).__name__ == "CopySlices"
    (y * ad.tensor([10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [20.0, 100.0]


def test_mark_dirty_of_a_tensor_without_grad():
    x = ad.ones(2)
    assert Doubled.apply(x) is x
    assert x.tolist() == [2.0, 2.0]
    assert not x.requires_grad


def test_mark_dirty_spoils_what_was_saved_before():
    y = double(1.0) * 1
    z = y * y
    Doubled.apply(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_mark_dirty_and_double_backward():
    class SquaredInPlace(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x.clone())
            x.mul_(x)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x

    x = double(3.0)
    SquaredInPlace.apply(x * 1).backward()
    assert x.grad.item() == 6.0


# ----- once_differentiable -----


class Once(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        assert not ad.is_grad_enabled()
        return g * 2 * x


def test_once_differentiable():
    x = double(3.0)
    Once.apply(x).backward()
    assert x.grad.item() == 6.0
    (g,) = ad.autograd.grad(Once.apply(x) ** 2, x, create_graph=True)
    assert g.item() == 2 * 9 * 6
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"):
        g.backward()


# ----- forward mode -----


class CubeForward(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * t


def test_jvp():
    with fwAD.dual_level():
        x = fwAD.make_dual(ad.tensor([1.0, 2.0]), ad.tensor([1.0, 10.0]))
        value, tangent = fwAD.unpack_dual(CubeForward.apply(x))
    assert value.tolist() == [1.0, 8.0]
    assert tangent.tolist() == [3.0, 120.0]


@pytest.mark.parametrize("materialize", [True, False])
def test_jvp_of_several_outputs_and_missing_tangents(materialize):
    class Two(Function):
        @staticmethod
        def forward(ctx, x, y, number):
            ctx.set_materialize_grads(materialize)
            return x + y, x - y

        @staticmethod
        def jvp(ctx, tx, ty, t_number):
            assert t_number is None
            assert ty.tolist() == [0.0] if materialize else ty is None
            return tx * 2, tx * 3

    with fwAD.dual_level():
        x = fwAD.make_dual(ad.ones(1), ad.ones(1))
        a, b = Two.apply(x, ad.ones(1), 5)
        assert fwAD.unpack_dual(a).tangent.tolist() == [2.0]
        assert fwAD.unpack_dual(b).tangent.tolist() == [3.0]


def test_missing_jvp():
    with fwAD.dual_level(), pytest.raises(NotImplementedError, match="You must implement the jvp function"):
        Cube.apply(fwAD.make_dual(ad.ones(1), ad.ones(1)))


# ----- lifetime and odds and ends -----


def test_ctx_and_node_are_freed_with_the_graph():
    alive: list[Any] = []

    class Keep(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.thing = Thing()
            alive.append(weakref.ref(ctx.thing))
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Thing:
        pass

    x = double(1.0)
    y = Keep.apply(x)
    y.backward()
    del y
    gc.collect()
    assert alive[0]() is None


def test_inside_a_larger_graph():
    x = double(1.0, 2.0)
    y = Cube.apply(x.sin()).exp().sum()
    y.backward()
    reference = double(1.0, 2.0)
    (reference.sin() ** 3).exp().sum().backward()
    assert ad.allclose(x.grad, reference.grad)


def test_functions_call_functions():
    class Ninth(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return Cube.apply(Cube.apply(x))

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with ad.enable_grad():
                again = x.detach().requires_grad_()
                (slope,) = ad.autograd.grad(Cube.apply(Cube.apply(again)), again, g)
            return slope

    x = double(1.5)
    Ninth.apply(x).backward()
    assert x.grad.item() == pytest.approx(9 * 1.5**8)


def test_hooks_on_the_output():
    x = double(2.0)
    y = Cube.apply(x)
    y.register_hook(lambda g: g * 10)
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 100,))
    y.backward()
    assert x.grad.item() == 12000.0


def test_exception_in_backward_reaches_the_caller():
    class Fails(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Fails.apply(double(1.0)).backward()
    assert ad.is_grad_enabled()
