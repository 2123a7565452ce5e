"""Tensors beside other libraries' arrays: NumPy's functions, DLPack, copies and pickles, storage objects."""

from __future__ import annotations

import copy
import dis
import pickle
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import _numpy_functions
from adjoint._tensor import Parameter
from adjoint.ops._registry import OPS

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4))
V = RNG.normal(size=4)
POSITIVE = np.abs(A) + 0.5

# ---- NumPy's functions on tensors ---------------------------------------------------------------------------------

# Each is applied to an array and to a tensor of the same values; the results and the derivatives have to agree.
FUNCTIONS = {
    "sum": lambda x: np.sum(x),
    "sum over an axis": lambda x: np.sum(x, axis=0),
    "sum over all, kept": lambda x: np.sum(x, axis=(0, 1), keepdims=True),
    "sum over none": lambda x: np.sum(x, axis=()),
    "mean": lambda x: np.mean(x, axis=-1, keepdims=True),
    "mean, kept": lambda x: np.mean(x, keepdims=True),
    "prod": lambda x: np.prod(x),
    "prod over axes": lambda x: np.prod(x, axis=(0, 1)),
    "prod, kept": lambda x: np.prod(x, axis=1, keepdims=True),
    "max": lambda x: np.max(x),
    "amax": lambda x: np.amax(x, axis=(0, 1), keepdims=True),
    "min": lambda x: np.min(x, axis=1),
    "amin": lambda x: np.amin(x),
    "ptp": lambda x: np.ptp(x, axis=0),
    "std": lambda x: np.std(x),
    "var": lambda x: np.var(x, axis=0, ddof=1, keepdims=True),
    "cumsum": lambda x: np.cumsum(x),
    "cumsum over an axis": lambda x: np.cumsum(x, axis=1),
    "cumprod": lambda x: np.cumprod(x, axis=0),
    "reshape": lambda x: np.reshape(x, (4, 3)),
    "ravel": lambda x: np.ravel(x),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "moveaxis": lambda x: np.moveaxis(x, 0, -1),
    "transpose": lambda x: np.transpose(x),
    "transpose by axes": lambda x: np.transpose(x, (1, 0)),
    "expand_dims": lambda x: np.expand_dims(x, (0, -1)),
    "squeeze": lambda x: np.squeeze(np.expand_dims(x, 1)),
    "squeeze an axis": lambda x: np.squeeze(np.expand_dims(x, 1), axis=1),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 3, 4)),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, np.ones((2, 3, 4)))[0],
    "where": lambda x: np.where(A > 0, x, 0.0),
    "where, both": lambda x: np.where(x > 0, x, B),
    "matmul": lambda x: np.matmul(x, A.T),
    "array @ tensor": lambda x: A.T @ x,
    "dot": lambda x: np.dot(x, V),
    "dot of matrices": lambda x: np.dot(x, A.T),
    "dot with more dimensions": lambda x: np.dot(np.ones((2, 3, 4)), x.T),
    "inner": lambda x: np.inner(x, B),
    "outer": lambda x: np.outer(x, V),
    "vdot": lambda x: np.vdot(x, B),
    "kron": lambda x: np.kron(x, B),
    "tensordot": lambda x: np.tensordot(x, B, axes=([0], [0])),
    "tensordot over two": lambda x: np.tensordot(x, B),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, B),
    "concatenate": lambda x: np.concatenate([x, B], axis=1),
    "concatenate, flat": lambda x: np.concatenate([x, B], axis=None),
    "stack": lambda x: np.stack([x, B], axis=-1),
    "hstack": lambda x: np.hstack([x, B]),
    "vstack": lambda x: np.vstack([x, B]),
    "dstack": lambda x: np.dstack([x, B]),
    "column_stack": lambda x: np.column_stack([x, B]),
    "split": lambda x: np.split(x, [1, 2], axis=1)[1],
    "array_split": lambda x: np.array_split(x, 3, axis=1)[0],
    "tile": lambda x: np.tile(x, (2, 1)),
    "repeat": lambda x: np.repeat(x, 2),
    "repeat along an axis": lambda x: np.repeat(x, [1, 0, 2], axis=0),
    "zeros_like": lambda x: x + np.zeros_like(x),
    "ones_like": lambda x: x * np.ones_like(x),
    "full_like": lambda x: x * np.full_like(x, 2.0),
    "copy": lambda x: np.copy(x),
    "flip": lambda x: np.flip(x),
    "flip an axis": lambda x: np.flip(x, 0),
    "fliplr": lambda x: np.fliplr(x),
    "roll": lambda x: np.roll(x, 1),
    "roll along axes": lambda x: np.roll(x, (1, 2), axis=(0, 1)),
    "rot90": lambda x: np.rot90(x),
    "clip": lambda x: np.clip(x, -0.5, 0.5),
    "clip by arrays": lambda x: np.clip(x, B - 1, B + 1),
    "take_along_axis": lambda x: np.take_along_axis(x, np.argsort(B, 1), 1),
    "take": lambda x: np.take(x, [0, 2], axis=1),
    "take, flat": lambda x: np.take(x, [0, 5]),
    "diagonal": lambda x: np.diagonal(x, 1),
    "diag": lambda x: np.diag(x),
    "trace": lambda x: np.trace(x),
    "triu": lambda x: np.triu(x),
    "tril": lambda x: np.tril(x, -1),
    "sort": lambda x: np.sort(x, axis=0),
    "sort by argsort": lambda x: np.take_along_axis(x, np.argsort(x, 1), 1),
    "nan_to_num": lambda x: np.nan_to_num(x),
    "real": lambda x: np.real(x),
    "imag": lambda x: np.imag(x) + x,
    "sinc": lambda x: np.sinc(x),
    "diff": lambda x: np.diff(x, axis=0, n=2),
    "meshgrid": lambda x: np.meshgrid(x[0], B[1])[0],
    # ufuncs
    "add": lambda x: np.add(x, B),
    "subtract": lambda x: np.subtract(2.0, x),
    "divide": lambda x: np.divide(1.0, POSITIVE + x * x),
    "power": lambda x: np.power(POSITIVE + x * x, 2.5),
    "power of a number": lambda x: np.power(2.0, x),
    "maximum": lambda x: np.maximum(x, B),
    "maximum with a number": lambda x: np.maximum(0.1, x),
    "minimum": lambda x: np.minimum(x, [0.1, 0.2, 0.3, 0.4]),
    "arctan2": lambda x: np.arctan2(x, B),
    "hypot": lambda x: np.hypot(x, B),
    "logaddexp": lambda x: np.logaddexp(x, B),
    "absolute": lambda x: np.abs(x),
    "negative": lambda x: np.negative(x),
    "sqrt": lambda x: np.sqrt(POSITIVE + x * x),
    "exp": lambda x: np.exp(x),
    "log1p": lambda x: np.log1p(x * x),
    "arcsinh": lambda x: np.arcsinh(x),
    "degrees": lambda x: np.degrees(x),
    "conjugate": lambda x: np.conjugate(x),
    "add.reduce": lambda x: np.add.reduce(x),
    "multiply.reduce": lambda x: np.multiply.reduce(x, axis=None),
    "maximum.reduce": lambda x: np.maximum.reduce(x, axis=1, keepdims=True),
    "add.accumulate": lambda x: np.add.accumulate(x),
    "multiply.outer": lambda x: np.multiply.outer(x, V),
    # operators
    "NumPy scalar * tensor": lambda x: np.float64(2) * x,
    "0-d array * tensor": lambda x: np.array(2.0) * x,
    "array * tensor": lambda x: B * x,
    "array - tensor": lambda x: B - x,
    "array / tensor": lambda x: B / (x * x + 1),
    "tensor / array": lambda x: x / B,
}


def numerical_gradient(fn, weights):
    gradient = np.zeros_like(A)
    for index in np.ndindex(*A.shape):
        step = np.zeros_like(A)
        step[index] = 1e-6
        gradient[index] = np.sum((np.asarray(fn(A + step)) - np.asarray(fn(A - step))) * weights) / 2e-6
    return gradient


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy_functions_on_tensors_are_differentiable(name):
    fn = FUNCTIONS[name]
    expected = np.asarray(fn(A))
    tensor = ad.tensor(A, requires_grad=True)
    result = fn(tensor)
    assert isinstance(result, ad.Tensor)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result.detach().numpy(), expected, rtol=1e-12, atol=1e-12)
    weights = np.random.default_rng(1).normal(size=expected.shape)
    (gradient,) = ad.autograd.grad((result * ad.tensor(weights)).sum(), tensor, create_graph=True)
    np.testing.assert_allclose(gradient.detach().numpy(), numerical_gradient(fn, weights), rtol=1e-4, atol=1e-4)


# What derivative rules may use without asking (the contract of the op modules).
CONTRACT = """sum mean prod max min amax amin reshape swapaxes moveaxis transpose expand_dims squeeze broadcast_to where matmul concatenate
stack split zeros_like ones_like full_like flip roll cumsum clip take_along_axis repeat tile diagonal triu tril einsum tensordot copy sort
argsort real imag""".split()


@pytest.mark.parametrize("name", CONTRACT)
def test_functions_for_derivative_rules_are_in_the_table(name):
    function = getattr(np, name)
    if isinstance(function, np.ufunc):
        assert _numpy_functions._ufuncs[function] is not None
    else:
        assert function in _numpy_functions.TABLE


def numpy_names(code):
    """The `name` of each `np.name` in a function."""
    before = None
    for instruction in dis.get_instructions(code):
        if before == "np" and instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            yield instruction.argval
        before = instruction.argval if instruction.opname == "LOAD_GLOBAL" else None
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from numpy_names(constant)


def helpers_of(rule, found):
    """The functions of the op modules that a rule calls, and those that they call."""
    if rule in found:
        return
    found.add(rule)
    for name in rule.__code__.co_names:
        called = rule.__globals__.get(name)
        if isinstance(called, FunctionType) and called.__module__.startswith("adjoint.ops") and not hasattr(called, "op"):
            helpers_of(called, found)


def test_numpy_functions_in_derivative_rules_work_on_tensors():
    # Functions that are not given tensors.
    makers = {
        "arange", "array", "asarray", "ascontiguousarray", "broadcast_shapes", "empty", "eye", "flatnonzero", "full", "linspace", "ones",
        "tri", "zeros",
    }  # fmt: skip
    missing = set()
    for op in OPS.values():
        for _, rule in op.named_rules():
            functions: set[FunctionType] = set()
            helpers_of(rule, functions)
            for name in {name for fn in functions for name in numpy_names(fn.__code__)} - makers:
                function = getattr(np, name)
                if isinstance(function, np.ufunc):
                    known = _numpy_functions._ufuncs[function] is not None
                else:
                    known = not callable(function) or isinstance(function, type) or function in _numpy_functions.TABLE
                if not known:
                    missing.add(f"{op.name}: np.{name}")
    assert sorted(missing) == []


def test_functions_without_an_op_refuse_to_lose_a_gradient():
    tensor = ad.ones(3, requires_grad=True)
    with pytest.raises(TypeError, match=r"numpy\.histogram has no derivative.*\n.*numpy\.histogram\(t\.detach\(\)\.numpy\(\), \.\.\.\)"):
        np.histogram(tensor)
    with pytest.raises(TypeError, match=r"numpy\.spacing has no derivative here"):
        np.spacing(tensor)
    with pytest.raises(TypeError, match=r"numpy\.add\.reduceat has no derivative here"):
        np.add.reduceat(tensor, [0])
    assert isinstance(np.histogram(tensor.detach())[0], np.ndarray)
    assert isinstance(np.spacing(tensor.detach()), np.ndarray)


def test_facts_about_tensors_need_no_op():
    tensor = ad.ones(2, 3, requires_grad=True)
    assert np.shape(tensor) == (2, 3)
    assert np.ndim(tensor) == 2
    assert np.size(tensor) == 6
    assert np.allclose(tensor, 1)
    assert np.array_equal(tensor, np.ones((2, 3)))
    assert not np.iscomplexobj(tensor)


def test_ufuncs_write_into_arrays_only_what_has_no_history():
    array = np.ones(2)
    array += ad.ones(2)
    assert array.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        array += ad.ones(2, requires_grad=True)
    assert array.tolist() == [2, 2]
    out: Any = ad.zeros(2)
    assert np.add(ad.ones(2), 1.0, out=out) is out
    assert out.tolist() == [2, 2]
    assert np.add(ad.ones(2), 1, dtype=np.float64).dtype is ad.float64


def test_python_numbers_keep_their_precision_beside_float64_tensors():
    assert np.maximum(ad.zeros(1, dtype=ad.float64), 0.1).item() == 0.1
    assert np.maximum(ad.zeros(1), 0.1).dtype is ad.float32


def test_copyto():
    target = ad.zeros(2)
    np.copyto(target, np.ones(2))
    assert target.tolist() == [1, 1]
    array = np.zeros(2, np.float32)
    np.copyto(array, target)
    assert array.tolist() == [1, 1]


# ---- arrays of tensors --------------------------------------------------------------------------------------------


def test_numpy_shares_memory():
    tensor = ad.zeros(2, 3)
    array = tensor.t().numpy()
    tensor[0, 1] = 5
    assert array[1, 0] == 5
    assert np.shares_memory(array, tensor)
    assert np.asarray(tensor).base is None or np.shares_memory(np.asarray(tensor), array)
    assert np.asarray(tensor, dtype=np.float64).dtype == np.float64
    assert not np.shares_memory(np.array(tensor, copy=True), array)
    assert np.array([ad.tensor(1.0), ad.tensor(2.0)]).tolist() == [1, 2]
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.array(tensor, dtype=np.float64, copy=False)


def test_numpy_refuses_tensors_that_require_grad_and_says_what_to_write():
    weight = ad.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError) as caught:
        weight.numpy()
    text = str(caught.value)
    assert text.startswith("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    assert "test_interop.py" in text
    assert "fix: weight.detach().numpy()" in text
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        np.asarray(weight)
    assert weight.numpy(force=True).tolist() == [1, 1]
    with pytest.raises(TypeError, match="can't convert meta device type tensor to numpy"):
        ad.ones(2, device="meta").numpy()


# ---- DLPack -------------------------------------------------------------------------------------------------------


def test_dlpack_shares_memory_both_ways():
    array = np.arange(6.0).reshape(2, 3)
    tensor = ad.from_dlpack(array.T)
    assert tensor.stride() == (1, 3)
    tensor[0, 0] = 9
    assert array[0, 0] == 9
    assert tensor.__dlpack_device__() == (1, 0)
    back = np.from_dlpack(tensor)
    assert np.shares_memory(back, array)
    assert ad.from_dlpack(ad.to_dlpack(tensor)).data_ptr() == tensor.data_ptr()
    assert ad.from_dlpack(array, copy=True).data_ptr() != array.__array_interface__["data"][0]


def test_dlpack_refuses():
    with pytest.raises(BufferError, match="Can't export tensors that require gradient, use tensor"):
        ad.ones(2, requires_grad=True).__dlpack__()
    with pytest.raises(AttributeError, match="'list' object has no attribute '__dlpack__'"):
        ad.from_dlpack([1])
    with pytest.raises(ValueError, match="At least one stride in the given numpy array is negative"):
        ad.from_dlpack(np.ones(3)[::-1])


# ---- copies and pickles -------------------------------------------------------------------------------------------


def through_pickle(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64", "bfloat16"])
def test_pickles_keep_values_and_dtype(dtype):
    tensor = ad.ones(2, 3, dtype=getattr(ad, dtype))
    again = through_pickle(tensor)
    assert again.tolist() == tensor.tolist()
    assert again.dtype is tensor.dtype
    assert again.data_ptr() != tensor.data_ptr()


def test_pickles_keep_requires_grad_class_and_attributes():
    leaf = ad.ones(2, requires_grad=True)
    leaf.note = ["mine"]
    leaf.grad = ad.ones(2)
    again = through_pickle(leaf)
    assert again.requires_grad
    assert again.note == ["mine"]
    assert again.grad is None
    assert through_pickle(leaf * 2).is_leaf  # history is not kept
    parameter = Parameter(ad.ones(2), requires_grad=False)
    parameter.tag = "a"
    twin = through_pickle(parameter)
    assert type(twin) is Parameter
    assert not twin.requires_grad
    assert twin.tag == "a"


def test_pickles_of_constants_are_the_constants():
    for constant in (ad.float32, ad.strided, ad.channels_last, ad.device("cpu"), ad.Size([2])):
        assert through_pickle(constant) == constant
    assert through_pickle(ad.strided) is ad.strided


def test_a_shallow_copy_shares_memory():
    tensor = ad.ones(2, requires_grad=True)
    twin = copy.copy(tensor)
    assert twin is not tensor
    assert twin.data_ptr() == tensor.data_ptr()
    assert twin.requires_grad


def test_deepcopy_copies_values_gradient_and_attributes():
    leaf = ad.ones(2, requires_grad=True)
    leaf.grad = ad.full((2,), 3.0)
    leaf.note = ["mine"]
    twin = copy.deepcopy(leaf)
    assert twin.requires_grad
    assert twin.is_leaf
    assert twin.data_ptr() != leaf.data_ptr()
    assert twin.grad.tolist() == [3, 3]
    assert twin.grad is not leaf.grad
    assert twin.note == ["mine"]
    assert twin.note is not leaf.note
    same, again = copy.deepcopy([leaf, leaf])
    assert same is again


def test_deepcopy_of_a_parameter_starts_afresh():
    parameter = Parameter(ad.ones(2, 3).t())
    parameter.grad = ad.ones(3, 2)
    twin = copy.deepcopy(parameter)
    assert type(twin) is Parameter
    assert twin.grad is None
    assert twin.stride() == (1, 3)


def test_deepcopy_keeps_views_on_common_memory():
    base = ad.arange(12.0).reshape(3, 4)
    row, transposed = base[1], base.t()
    copied, copied_row, copied_transposed = copy.deepcopy([base, row, transposed])
    copied_row[0] = 99
    assert copied[1, 0].item() == 99
    assert copied_transposed[0, 1].item() == 99
    assert copied_transposed.tolist() == copied.t().tolist()
    assert base[1, 0].item() == 4


def test_deepcopy_of_a_part_of_memory_with_gaps():
    part = ad.from_numpy(np.arange(12.0).reshape(3, 4)[:, ::2])
    assert copy.deepcopy(part).tolist() == part.tolist()


def test_deepcopy_refuses_tensors_with_history():
    leaf = ad.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Only Tensors created explicitly by the user \(graph leaves\) support the deepcopy protocol"):
        copy.deepcopy(leaf * 2)
    assert copy.deepcopy((leaf * 2).detach()).tolist() == [2, 2]


def test_as_subclass_keeps_the_history():
    class Named(ad.Tensor):
        pass

    leaf = ad.ones(2, requires_grad=True)
    named = leaf.as_subclass(Named)
    assert type(named) is Named
    assert repr(named).startswith("Named([1., 1.]")
    (named * 3).sum().backward()
    assert leaf.grad.tolist() == [3, 3]


# ---- storage ------------------------------------------------------------------------------------------------------


def test_storage_is_the_memory_behind_all_views():
    base = ad.arange(6.0)
    part = base[2:4]
    storage = part.untyped_storage()
    assert storage.data_ptr() == base.data_ptr()
    assert storage.nbytes() == storage.size() == len(storage) == 24
    assert storage == base.untyped_storage()
    assert storage != ad.ones(6).untyped_storage()
    assert part._typed_storage()._size() == 6
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        ad.storage._reset_warn_typed_storage_removal()
        assert part.storage().tolist() == [0, 1, 2, 3, 4, 5]
    assert ad.is_storage(storage)
    assert repr(ad.ones(1, dtype=ad.uint8).untyped_storage()) == " 1\n[torch.storage.UntypedStorage(device=cpu) of size 1]"
    assert ad.ones(2, device="meta").untyped_storage().nbytes() == 8


def test_memory_is_not_pinned():
    tensor = ad.ones(2)
    assert not tensor.is_pinned()
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        tensor.pin_memory()


@pytest.mark.parametrize("call", [np.matmul, np.dot, np.inner, lambda a, b: a @ b, lambda a, b: np.einsum("ij,jk", a, b),
                                  lambda a, b: np.tensordot(a, b, 1), lambda a, b: np.matmul(a[None], b)])  # fmt: skip
def test_products_with_arrays_of_other_dtypes(call):
    a, b = np.arange(4, dtype=np.float32).reshape(2, 2), np.arange(4).reshape(2, 2)
    for other in (b, b.astype(np.float64), b > 1):
        x = ad.tensor(a, requires_grad=True)
        for found, wanted in ((call(x, other), call(a, other)), (call(other, x), call(other, a))):
            assert found.dtype == (ad.float64 if other.dtype == np.float64 else ad.float32)
            np.testing.assert_array_equal(found.detach(), wanted)
        found.sum().backward()
        assert x.grad.dtype == ad.float32


@pytest.mark.parametrize("call", [
    np.matmul, np.dot, np.inner, np.vdot, np.outer, np.kron, np.isclose, np.linalg.solve, np.maximum, np.add,
    lambda a, b: np.einsum("ij,jk", a, b), lambda a, b: np.tensordot(a, b, 1), lambda a, b: np.where(a > 0, a, b),
    lambda a, b: np.concatenate([a, b]), lambda a, b: np.stack([a, b]), lambda a, b: np.hstack([a, b]), lambda a, b: np.vstack([a, b]),
    lambda a, b: np.linalg.multi_dot([a, b, a]), lambda a, b: np.clip(a, b, 9),
])  # fmt: skip
def test_numpys_functions_promote_tensors_of_two_dtypes(call):
    """Also beside arrays; the functions of PyTorch's API refuse where PyTorch does."""
    narrow, wide = np.array([[2, 1], [0, 1]], np.float32), np.array([[1.0, 0.5], [0.5, 1.0]])
    expected = call(narrow, wide)
    for first, second in ((ad.tensor(narrow), ad.tensor(wide)), (ad.tensor(narrow), wide), (narrow, ad.tensor(wide))):
        found = call(first, second)
        assert found.numpy().dtype == expected.dtype
        np.testing.assert_allclose(found.numpy(), expected)
    with pytest.raises(RuntimeError, match=r"same dtype|expected scalar type"):
        ad.tensor(narrow) @ ad.tensor(wide)


@pytest.mark.parametrize("call", [np.atleast_1d, np.atleast_2d, np.atleast_3d])
def test_at_least_so_many_dimensions_are_an_array_unless_a_gradient_would_be_lost(call):
    array = np.ones(2)
    found = call(ad.tensor(array))
    assert type(found) is np.ndarray and found.shape == call(array).shape
    first, second = call(ad.tensor(array), array)
    assert type(first) is type(second) is np.ndarray
    x = ad.tensor(array, requires_grad=True)
    call(x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]
    with ad.no_grad():
        assert type(call(x)) is np.ndarray
    assert ad.func.jvp(lambda x: call(x).sum(), (ad.ones(2),), (ad.ones(2),))[1].item() == 2
    assert ad.func.vmap(lambda x: call(x).sum())(ad.ones(3, 2)).tolist() == [2, 2, 2]


@pytest.mark.parametrize("reduce", [np.prod, np.var, np.argmax, np.cumsum, np.sum, np.max], ids=lambda fn: fn.__name__)
def test_results_of_numpys_functions_go_into_out(reduce):
    x = ad.tensor([[1.0, 2.0], [5.0, 3.0]])
    out = ad.zeros_like(reduce(x, axis=0))
    assert reduce(x, axis=0, out=out) is out and out.equal(reduce(x, axis=0))


def test_moments_are_computed_in_the_dtype_that_is_asked_for():
    assert np.var(ad.tensor([1.0, 2.0]), dtype=np.float64).dtype is ad.float64
