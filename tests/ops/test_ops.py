"""Every op of the registry, on all of its samples (`tests/ops/samples/`)."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops._registry import ELEMENTWISE, OPS
from tests.ops import _check
from tests.ops._check import Call, Derivative, assert_same, data
from tests.ops.samples import Row, load

ROWS = load()
NAMES = sorted(ROWS)


def differentiable(row: Row) -> bool:
    return row.name not in OPS or OPS[row.name].differentiable


def test_every_op_has_samples() -> None:
    missing = sorted(set(OPS) - {name for name, row in ROWS.items() if row.generators})
    assert not missing, f"write samples for {missing} in tests/ops/samples/"


def test_every_row_names_a_function() -> None:
    for row in ROWS.values():
        assert callable(_check.our_function(row)), row.name


@pytest.mark.parametrize("name", NAMES)
def test_gradients(name: str) -> None:
    """First and second derivatives against differences, and forward mode against reverse mode."""
    row = ROWS[name]
    for sample in row.samples():
        call = Call(row, sample)
        if not (sample.differences and differentiable(row) and call.differentiable()):
            continue
        try:
            derivative = Derivative(call)
            if not derivative.smooth:
                continue
            _check.check_gradient(derivative)
            _check.check_forward_mode(derivative)
            if row.second_order:
                _check.check_second(derivative)
        except Exception as error:
            error.add_note(f"in {name}{sample}")
            raise


# Where a number is not a function of complex inputs that can be differentiated, or not at these samples.
NOT_AT_THE_SAMPLES = {
    "linalg_svd": "the phases of singular vectors are anyone's choice; tests/ops/test_linalg.py has functions that do not depend on them",
    "masked.logaddexp": "an excluded element, which counts as minus infinity, has no phase",
}


@pytest.mark.filterwarnings("ignore:Casting complex values to real discards")
@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_AT_THE_SAMPLES])
def test_gradients_of_complex_numbers(name: str) -> None:
    """Whatever takes complex numbers where its samples have real ones has the right derivatives, from the first call on and after."""
    row, random = ROWS[name], np.random.default_rng(0)
    for sample in row.samples():
        call = Call(row, sample)
        if not (sample.differences and differentiable(row) and call.differentiable()):
            continue
        call.arrays = [np.asarray(a + 0.5j * random.uniform(-1, 1, a.shape)) if a.dtype == np.float64 else a for a in call.arrays]
        try:
            call(call.tensors())
        except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError):
            continue  # refused
        derivative = Derivative(call)
        if derivative.smooth:
            try:
                _check.check_gradient(derivative)
                _check.check_gradient(derivative)
                _check.check_forward_mode(derivative)
                if row.second_order:
                    _check.check_second(derivative)
            except Exception as error:
                error.add_note(f"in {name}{sample}, with complex numbers")
                raise


@pytest.mark.parametrize("name", NAMES)
def test_memory_layout_does_not_matter(name: str) -> None:
    row = ROWS[name]
    for sample in row.samples():
        if not sample.any_layout:
            continue
        call = Call(row, sample)
        expected = call(call.tensors())
        spread = call([ad.from_numpy(_check.spread_out(array)) for array in call.arrays])
        for ours, wanted in zip(spread, expected, strict=True):
            assert_same(ours, wanted, f"{name}{sample} of tensors that are not contiguous")


@pytest.mark.parametrize("name", NAMES)
def test_inputs_are_not_changed(name: str) -> None:
    row = ROWS[name]
    if name.endswith("_"):
        return
    for sample in row.samples():
        call = Call(row, sample)
        tensors = call.tensors()
        call(tensors)
        for tensor, array in zip(tensors, call.arrays, strict=True):
            assert_same(tensor, array, f"{name}{sample}: an input was changed", exactly=True)


@pytest.mark.parametrize("name", [name for name in NAMES if name in OPS and OPS[name].broadcasts and OPS[name].jvp in (None, ELEMENTWISE)])
def test_empty_tensors(name: str) -> None:
    """An elementwise op on no elements gives none, and its gradients have the shapes of its inputs."""
    row = ROWS[name]
    for sample in row.samples():
        call = Call(row, sample)
        longest = max(array.ndim for array in call.arrays)
        if longest == 0:
            continue
        full = [array.shape[0] for array in call.arrays if array.ndim == longest]
        call.arrays = [array[:0] if array.ndim == longest and array.shape[0] == max(full) else array for array in call.arrays]
        tensors = call.tensors()
        for slot in call.differentiable():
            tensors[slot].requires_grad_()
        outputs = call(tensors)
        assert all(out.numel() == 0 for out in outputs), f"{name}{sample}"
        if not sample.torch_gradient:
            continue
        for out in outputs:
            if out.requires_grad:
                out.backward(ad.ones_like(out), retain_graph=True)
        for slot in call.differentiable():
            if tensors[slot].grad is not None:
                assert tensors[slot].grad.shape == tensors[slot].shape


def changes_elements(name: str) -> bool:
    """Whether there is an in-place form that writes elements. That of a view changes the shape: tests/test_inplace_views.py."""
    view = name == "swapaxes" or (name in OPS and OPS[name].view)
    return hasattr(ad.Tensor, f"{name}_") and name != "float_power" and not view


@pytest.mark.parametrize("name", [name for name in NAMES if changes_elements(name)])
def test_inplace_form(name: str) -> None:
    """`x.f_(y)` is `x = f(x, y)`, in values and gradients, wherever the result fits into `x`."""
    row = ROWS[name]
    changing: Any = getattr(ad.Tensor, f"{name}_")
    for sample in row.samples():
        call = Call(row, sample)
        if not isinstance(call.args[0], _check.Slot):
            continue  # torch.pow(2, x): the first argument is no tensor
        expected = call(call.tensors())[0]
        target = call.arrays[call.args[0]]
        fits = expected.shape == target.shape and ad.can_cast(expected.dtype, ad.from_numpy(target).dtype)
        if name == "abs" and target.dtype.kind == "c":
            fits = False  # a modulus is real, and PyTorch does not write it into complex numbers
        tensors = call.tensors()
        if expected._is_view():
            assert_same(call(tensors, changing)[0], expected, f"{name}_{sample}")  # squeeze_ and the like: the tensor looks elsewhere
            continue
        if not fits:
            with pytest.raises(RuntimeError):
                call(tensors, changing)
            assert_same(tensors[call.args[0]], target, f"{name}_{sample}: refused, and yet it wrote", exactly=True)
            continue
        x = tensors[call.args[0]]
        (result,) = call(tensors, changing)
        assert result is x
        assert x._version == 1
        assert_same(x, data(expected).astype(target.dtype), f"{name}_{sample}")
        if sample.torch_gradient and differentiable(row) and call.differentiable():
            check_inplace_gradient(call, changing, f"{name}_{sample}")


def check_inplace_gradient(call: Call, changing: Any, what: str) -> None:
    def gradients(function: Any) -> list[Any]:
        leaves = call.tensors()
        for slot in call.differentiable():
            leaves[slot].requires_grad_()
        (result,) = call([leaf.clone() for leaf in leaves], function)
        if result.requires_grad:
            result.backward(ad.ones_like(result))
        return [leaf.grad for leaf in leaves]

    for ours, wanted in zip(gradients(changing), gradients(None), strict=True):
        assert (ours is None) == (wanted is None), what
        if wanted is not None:
            assert_same(ours, wanted, f"gradient of {what}")


def takes_out(row: Row) -> bool:
    function = _check.our_function(row)
    if inspect.ismethoddescriptor(function):  # a compiled member, which has no signature
        return False
    return "out" in inspect.signature(function, follow_wrapped=False).parameters


@pytest.mark.parametrize("name", NAMES)
def test_out(name: str) -> None:
    """`f(x, out=y)` returns `y`, holding what `f(x)` is, whatever shape it had before."""
    row = ROWS[name]
    _check.our_function(row)
    for sample in row.samples():
        call = Call(row, sample)
        results = call(call.tensors())  # the first call makes the function, with its real signature
        if not takes_out(row):
            return
        if len(results) != 1 or not isinstance(results[0], ad.Tensor):
            return
        expected = results[0]
        for target in (ad.empty_like(expected), ad.empty(0, dtype=expected.dtype)):
            (result,) = call(call.tensors(), out=target)
            assert result is target
            assert_same(result, expected, f"{name}{sample} with out=")


@pytest.mark.parametrize("name", [name for name in NAMES if ROWS[name].error_generators])
def test_errors(name: str) -> None:
    row = ROWS[name]
    for sample in row.error_samples():
        call = Call(row, sample)
        with pytest.raises(sample.error, match=sample.pattern) as caught:
            call(call.tensors())
        assert type(caught.value) is sample.error or issubclass(type(caught.value), sample.error), sample


@pytest.mark.filterwarnings("error")
def test_infinities_and_nans_come_about_silently() -> None:
    """On the fast path, on the general path, in backward and in forward mode: NumPy's warnings stay inside."""
    for dtype in (ad.float32, ad.float16):
        x = ad.tensor([0.0, -1.0, 1e4], dtype=dtype, requires_grad=True)
        y = ad.log(x) + ad.sqrt(x) + 1 / x + x / (x - x) + ad.exp(x * x) + x**0.5 + ad.xlogy(x, x) + ad.sigmoid(-x * 1e4)
        y.sum().backward()
        assert x.grad is not None and not ad.isfinite(x.grad).any()
    with pytest.warns(RuntimeWarning):  # the user's own NumPy still warns
        np.log(np.zeros(1))
