"""The meta device: every op gives the shape, dtype and strides that it would give, without any elements."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import adjoint as ad
from adjoint import _meta
from adjoint._meta import MetaArray
from adjoint.ops._registry import FUNCTIONS, OPS
from tests.ops.samples import converted, load

# ---- arrays: NumPy's functions ------------------------------------------------------------------------------------------------------

def calls(text):
    return [call.strip() for line in text.splitlines() for call in line.split("|") if call.strip()]


rng = np.random.default_rng(0)
cube = rng.random((3, 4, 5))
ARRAYS = {
    "contiguous": cube,
    "transposed": cube.transpose(2, 0, 1),
    "reversed": cube[::-1, :, ::2],
    "expanded": np.broadcast_to(cube[:, :1], (3, 4, 5)),
    "float32": cube.astype(np.float32),
    "complex": cube + 1j,
    "integer": (cube * 100).astype(np.int32),
    "empty": cube[:, :0],
}
CALLS = calls("""
x + 1 | x * x | -x | x > 0 | 1.5 - x | x ** 2 | np.exp(x) | np.add(x, x[:1]) | np.logaddexp(x.real, x.real) | np.modf(x.real) | abs(x)
x.T | x.mT | x.real | x.imag | x[1] | x[-1, ..., 0] | x[:, None] | x[0, 0, :1] | x[::-1] | x[1:2, :, ::2] | x[..., None, :]
x[[0, 1]] | x[:, :, [0, 1, 1]] | x[[0, 1], :, [1, 0]] | x[np.array([[0, 1], [1, 1]])] | x[np.array([True, False, True])]
x.reshape(-1) | x.reshape(3, -1, 1) | np.reshape(x, (1, *x.shape)) | x.ravel() | x.flatten() | np.swapaxes(x, 0, 2) | np.moveaxis(x, 0, -1)
np.transpose(x) | np.expand_dims(x, 1) | np.squeeze(x[:1]) | np.broadcast_to(x, (2, *x.shape)) | np.flip(x, 0) | -np.flip(x, 1)
np.split(x, [1], axis=2) | np.diagonal(x) | np.lib.stride_tricks.sliding_window_view(x, 2, axis=2) | np.atleast_3d(x[0, 0])
np.sum(x, axis=0) | np.sum(x) | x.sum(axis=(0, 2), keepdims=True) | np.mean(x, axis=0) | np.prod(x, axis=-1) | np.add.reduce(x, axis=2)
np.var(x, axis=0, keepdims=True) | np.max(x, axis=0) | np.argmax(x, axis=0) | np.any(x > 0) | np.all(x, axis=2) | np.median(x, axis=0)
np.cumsum(x, axis=2) | np.cumprod(x, axis=0) | np.cumsum(x) | np.maximum.accumulate(x, axis=0) | np.count_nonzero(x, axis=0)
np.where(x > 0, x, 0) | np.clip(x.real, 0, 1) | np.round(x) | np.nan_to_num(x) | np.sinc(x) | np.isclose(x, x) | np.angle(x)
x.copy() | x.copy("K") | np.copy(x) | x.astype(np.complex128) | np.zeros_like(x) | np.ones_like(x, dtype=np.int8) | np.full_like(x, 2)
np.empty_like(x, shape=(2, 2)) | np.sort(x, axis=0) | np.argsort(x, axis=0) | np.roll(x, 1, 0) | np.triu(x) | np.tril(x, 1)
np.partition(x.real, 1, axis=0) | np.diff(x, axis=0) | np.diff(x, n=2, axis=0) | np.concatenate([x, x], axis=1) | np.concatenate([x[0], x[1]])
np.stack([x, x], axis=1) | np.stack([x, x], axis=-1) | np.tile(x, (2, 1, 1)) | np.repeat(x, 2, axis=0) | np.repeat(x, [1, 0, 2], axis=0)
np.pad(x, ((1, 2), (0, 0), (3, 3))) | np.take(x, [0, 1], axis=2) | np.take_along_axis(x, np.argsort(x, axis=0), axis=0) | np.trace(x)
np.matmul(x, x.swapaxes(1, 2)) | x[0] @ x[0, 0] | np.dot(x, x[0].T) | np.tensordot(x, x, 3) | np.einsum("ijk,ijk->ki", x, x)
np.einsum("...k,k", x, x[0, 0]) | np.outer(x, x[0, 0]) | np.inner(x, x[0]) | np.vdot(x, x) | np.kron(x[0], x[0]) | np.cross(x[0, :, :3], x[1, :, :3])
np.diag(x[0, 0]) | np.diag(x[0]) | np.quantile(x.real, [0.1, 0.5, 0.9], axis=0) | np.linalg.norm(x, axis=0) | np.linalg.vector_norm(x, axis=1)
np.fft.fft(x) | np.fft.rfft(x.real) | np.fft.irfft(x) | np.fft.fft(x, n=7, axis=0) | np.fft.fft2(x) | np.fft.irfftn(x, axes=(0, 2))
np.fft.fftshift(x) | np.searchsorted(x.real[0, 0], x.real) | np.digitize(x.real, [0.2, 0.5]) | np.delete(x, 0, axis=2) | np.frexp(x.real)
np.ptp(x.real, axis=0) | np.average(x, axis=0) | np.nanmax(x.real, axis=0) | np.real(x) | np.imag(x) | np.rot90(x) | np.logical_not(x)
""")
SQUARE_CALLS = calls("""
np.linalg.inv(x) | np.linalg.det(x) | np.linalg.slogdet(x) | np.linalg.eigh(x) | np.linalg.eig(x + 1j) | np.linalg.cholesky(x) | np.linalg.svd(x)
np.linalg.svd(x[:, :2], full_matrices=False) | np.linalg.svd(x, compute_uv=False) | np.linalg.svdvals(x) | np.linalg.qr(x)
np.linalg.qr(x[:, :, :2]) | np.linalg.qr(x[:, :, :2], mode="complete") | np.linalg.qr(x, mode="r") | np.linalg.pinv(x[:, :2])
np.linalg.solve(x, x[:, :, :2]) | np.linalg.solve(x, x[0]) | np.linalg.matrix_power(x, 3) | np.linalg.matrix_rank(x)
np.linalg.matrix_norm(x) | np.linalg.eigvalsh(x) | np.linalg.eigvals(x + 1j)
""")


def meta_of(x):
    return _meta.empty_like(x)


def facts(x):
    """Shape, dtype and strides; those of dimensions of one element, and of empty arrays, mean nothing."""
    strides = tuple(stride if size > 1 else 0 for stride, size in zip(x.strides, x.shape, strict=True)) if np.size(x) else ()
    return x.shape, x.dtype, strides


def flat(result):
    return [item for part in result for item in flat(part)] if isinstance(result, tuple | list) else [result]


def compare(call, x):
    function = eval(f"lambda x: {call}", {"np": np, "abs": abs})
    try:
        real = flat(function(x))
    except (ArithmeticError, IndexError, TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            function(meta_of(x))
        return
    ours = flat(function(meta_of(x)))
    assert all(isinstance(item, MetaArray) for item in ours)
    assert list(map(facts, ours)) == [facts(np.asarray(item)) for item in real]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("call", CALLS)
def test_numpy_functions_give_shape_dtype_and_strides(call, kind):
    if kind == "empty" and ("linalg" in call or "einsum" in call or "fft" in call or "[0, 0]" in call or "trace" in call):
        kind = "contiguous"
    compare(call, ARRAYS[kind])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64])
@pytest.mark.parametrize("call", SQUARE_CALLS)
def test_linear_algebra(call, dtype):
    compare(call, np.broadcast_to(np.eye(3, dtype=dtype) * 2, (4, 3, 3)).copy())


def test_writes_check_shapes_and_do_nothing():
    x = _meta.empty((3, 4), np.float32)
    x[0] = 1
    x[:, :2] = _meta.empty((3, 1), np.float64)
    x[[0, 1]] = _meta.empty((4,), np.float32)
    np.copyto(x, 2)
    np.add(x, 1, out=x)
    np.add.at(x, (0, 1), 1)
    x += 1
    with pytest.raises(ValueError, match="could not broadcast"):
        x[0] = _meta.empty((3,), np.float32)
    with pytest.raises(IndexError):
        x[5] = 1
    with pytest.raises(ValueError, match="non-broadcastable output"):
        np.add(x, 1, out=_meta.empty((4,), np.float32))
    with pytest.raises(TypeError, match="Cannot cast output"):
        np.add(x, 1.5, out=_meta.empty((3, 4), np.int32))


def test_new_arrays_on_the_device_of_another():
    x = _meta.empty((3, 4), np.float32)
    for made, shape, dtype in (
        (np.zeros((2, 5), np.int8, like=x), (2, 5), np.int8),
        (np.arange(7, like=x), (7,), np.int64),
        (np.full((2,), 1.5, like=x), (2,), np.float64),
        (np.asarray([1, 2], like=x), (2,), np.int64),
        (np.array(x.T, order="C", like=x), (4, 3), np.float32),
    ):
        assert isinstance(made, MetaArray)
        assert (made.shape, made.dtype, made.flags.c_contiguous) == (shape, dtype, True)
    assert np.asarray(x, like=x) is x


def test_nothing_is_allocated():
    huge = _meta.empty((10**6, 10**6), np.float64)  # eight terabytes
    product = np.exp(huge @ huge.T + 1).sum(axis=0) / huge[0]
    assert product.shape == (10**6,)
    assert huge.nbytes == 8 * 10**12
    assert huge.reshape(10**12)[10**11 :].shape == (9 * 10**11,)


def test_views_share_their_origin():
    x = _meta.empty((3, 4), np.float32)
    assert np.may_share_memory(x, x[1:].T)
    assert not np.may_share_memory(x, x + 1)


def test_there_are_no_values():
    x = _meta.empty((), np.float32)
    for convert in (bool, int, float, complex, lambda x: x.item()):
        with pytest.raises(RuntimeError, match=r"Tensor\.item\(\) cannot be called on meta tensors"):
            convert(x)
    for convert in (np.asarray, lambda x: x.tolist(), lambda x: np.copyto(np.zeros(()), x)):
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
            convert(x)
    for function in (np.nonzero, np.unique, np.argwhere):
        with pytest.raises(NotImplementedError, match="attempted to run this operator with Meta tensors"):
            function(_meta.empty((3,), np.float32))
    with pytest.raises(NotImplementedError, match="depends on its values"):
        _meta.empty((3,), np.float32)[_meta.empty((3,), bool)]


def test_real_arrays_are_refused_unless_they_are_numbers():
    x = _meta.empty((3,), np.float32)
    for function in (lambda: x + np.ones(3), lambda: np.concatenate([x, np.ones(3)]), lambda: np.where(x > 0, x, np.ones(3))):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device, but found at least two devices, meta and cpu!"):
            function()
    assert (x + np.float32(1)).shape == (x * np.array(2.0)).shape == (3,)


def test_copies():
    x = _meta.empty((3, 4), np.float32).T
    for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert facts(other) == facts(x)
