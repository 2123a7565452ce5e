"""The meta device: every op gives the shape, dtype and strides that it would give, without any elements."""

from __future__ import annotations

import copy
import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import _meta
from adjoint._meta import MetaArray
from tests.ops._check import Call
from tests.ops.samples import load

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
np.partition(x.real, 1, axis=0) | np.diff(x, axis=0) | np.diff(x, n=2, axis=0) | np.concatenate([x, x], axis=1)
np.concatenate([x[0], x[1]]) | np.stack([x, x], axis=1) | np.stack([x, x], axis=-1)
np.tile(x, (2, 1, 1)) | np.repeat(x, 2, axis=0) | np.repeat(x, [1, 0, 2], axis=0)
np.pad(x, ((1, 2), (0, 0), (3, 3))) | np.take(x, [0, 1], axis=2) | np.take_along_axis(x, np.argsort(x, axis=0), axis=0) | np.trace(x)
np.matmul(x, x.swapaxes(1, 2)) | x[0] @ x[0, 0] | np.dot(x, x[0].T) | np.tensordot(x, x, 3) | np.einsum("ijk,ijk->ki", x, x)
np.einsum("...k,k", x, x[0, 0]) | np.outer(x, x[0, 0]) | np.inner(x, x[0]) | np.vdot(x, x) | np.kron(x[0], x[0])
np.cross(x[0, :, :3], x[1, :, :3]) | np.diag(x[0, 0]) | np.diag(x[0]) | np.quantile(x.real, [0.1, 0.5, 0.9], axis=0)
np.linalg.norm(x, axis=0) | np.linalg.vector_norm(x, axis=1) | np.fft.fft(x) | np.fft.rfft(x.real)
np.fft.irfft(x) | np.fft.fft(x, n=7, axis=0) | np.fft.fft2(x) | np.fft.irfftn(x, axes=(0, 2))
np.fft.fftshift(x) | np.searchsorted(x.real[0, 0], x.real) | np.digitize(x.real, [0.2, 0.5]) | np.delete(x, 0, axis=2) | np.frexp(x.real)
np.ptp(x.real, axis=0) | np.average(x, axis=0) | np.nanmax(x.real, axis=0) | np.real(x) | np.imag(x) | np.rot90(x) | np.logical_not(x)
""")
SQUARE_CALLS = calls("""
np.linalg.inv(x) | np.linalg.det(x) | np.linalg.slogdet(x) | np.linalg.eigh(x) | np.linalg.eig(x + 1j)
np.linalg.cholesky(x) | np.linalg.svd(x) | np.linalg.svd(x[:, :2], full_matrices=False)
np.linalg.svd(x, compute_uv=False) | np.linalg.svdvals(x) | np.linalg.qr(x)
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
    x: Any = _meta.empty((3, 4), np.float32)
    made: Any
    for made, shape, dtype in (
        (np.zeros((2, 5), np.int8, like=x), (2, 5), np.int8),
        (np.arange(7, like=x), (7,), np.int64),
        (np.full((2,), 1.5, like=x), (2,), np.float64),
        (np.asarray([1, 2], like=x), (2,), np.int64),
        (np.array(x.T, order="C", like=x), (4, 3), np.float32),
    ):
        assert isinstance(made, MetaArray)
        assert (made.shape, made.dtype, made.flags.c_contiguous) == (shape, np.dtype(dtype), True)
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
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device, but found at least two devices, meta and"):
            function()
    assert (x + np.float32(1)).shape == (x * np.array(2.0)).shape == (3,)


def test_copies():
    x = _meta.empty((3, 4), np.float32).T
    for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert facts(other) == facts(x)


# ---- tensors ------------------------------------------------------------------------------------------------------------------------


def on_meta(*shape, **options):
    return ad.empty(*shape, device="meta", **options)


@pytest.mark.parametrize(
    "make",
    [
        lambda **o: ad.empty(2, 3, **o),
        lambda **o: ad.zeros(2, 3, dtype=ad.int64, **o),
        lambda **o: ad.ones((2, 3), **o),
        lambda **o: ad.full((2,), 1.5, **o),
        lambda **o: ad.arange(2, 9, 2, **o),
        lambda **o: ad.linspace(0, 1, 5, **o),
        lambda **o: ad.eye(3, 4, **o),
        lambda **o: ad.tensor([[1, 2]], **o),
        lambda **o: ad.rand(2, 3, **o),
        lambda **o: ad.randn(2, 3, dtype=ad.float64, **o),
        lambda **o: ad.randint(5, (3,), **o),
        lambda **o: ad.randperm(5, **o),
        lambda **o: ad.zeros_like(ad.ones(2, 3).T, **o),
        lambda **o: ad.rand_like(ad.ones(2, 3), **o),
        lambda **o: ad.empty_strided((2, 3), (1, 2), **o),
        lambda **o: ad.ones(2, 3).new_zeros(4, **o),
        lambda **o: ad.ones(2, 3).T.to(**({"device": "cpu"} | o)),
        lambda **o: ad.ones(2, 3).to(dtype=ad.float16, **o),
    ],
)
def test_creation(make):
    real, meta = make(), make(device="meta")
    assert meta.is_meta
    assert meta.device == ad.device("meta")
    assert (meta.shape, meta.dtype, meta.stride()) == (real.shape, real.dtype, real.stride())


def test_facts():
    x = on_meta(2, 3)
    assert (x.numel(), x.itemsize, x.nbytes, x.data_ptr(), len(x)) == (6, 4, 24, 0, 2)
    assert x.T.stride() == (1, 3)
    assert not x.T.is_contiguous()
    assert x.T.contiguous().stride() == (2, 1)
    assert x.T.clone().stride() == (1, 3)
    assert x[1:].storage_offset() == 3
    assert repr(x) == "tensor(..., device='meta', size=(2, 3))"
    assert repr((x.requires_grad_() * 2)[0]) == "tensor(..., device='meta', size=(3,), grad_fn=<SelectBackward0>)"
    assert [row.shape for row in x] == [(3,), (3,)]


def test_leaving_the_device():
    for leave in (lambda x: x.cpu(), lambda x: x.to("cpu"), lambda x: x.tolist(), lambda x: ad.zeros(3).copy_(x)):
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
            leave(on_meta(3))
    with pytest.raises(TypeError, match="can't convert meta device type tensor to numpy"):
        on_meta(3).numpy()
    for convert in (lambda x: x.item(), bool, float, lambda x: 1.0 in x):
        with pytest.raises(RuntimeError, match=r"Tensor\.item\(\) cannot be called on meta tensors"):
            convert(on_meta(()))
    assert ad.empty_like(on_meta(2, 3), device="cpu").shape == (2, 3)


def test_results_that_depend_on_values():
    x = on_meta(3)
    for function in (x.nonzero, lambda: x[x > 0], lambda: ad.masked_select(x, x > 0)):
        with pytest.raises(NotImplementedError, match="attempted to run this operator with Meta tensors"):
            function()


@pytest.mark.parametrize(
    "mix",
    [
        lambda x, y: x + y,
        lambda x, y: y * x,
        lambda x, y: x @ y,
        lambda x, y: ad.cat([x, y]),
        lambda x, y: ad.where(x > 0, x, y),
        lambda x, y: x.add_(y),
        lambda x, y: y.add_(x),
        lambda x, y: x.double() + y,
    ],
)
def test_devices_do_not_mix(mix):
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device, but found at least two devices"):
        mix(on_meta(3, 3), ad.ones(3, 3))


def test_numbers_and_indices_may_stand_anywhere():
    x = on_meta(3, 3)
    assert (x + ad.tensor(1.0)).is_meta
    assert x[ad.tensor([0, 1])].shape == (2, 3)
    assert x.copy_(ad.ones(3, 3)).is_meta


def test_in_place_writes():
    x = on_meta(3, 4)
    before = x._version
    x.add_(1).mul_(2).zero_().fill_(3)
    x[0] = 1
    x[:, 1] += 2
    x.uniform_().normal_()
    assert x._version > before
    with pytest.raises(RuntimeError):
        x.add_(on_meta(2, 3, 4))
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        on_meta(3, requires_grad=True).add_(1)


def test_gradients_are_on_the_device_too():
    x = on_meta(3, 4, requires_grad=True)
    w = on_meta(4, 5, requires_grad=True)
    loss = (x @ w).exp().mean()
    loss.backward()
    assert (x.grad.is_meta, x.grad.shape, w.grad.shape) == (True, (3, 4), (4, 5))
    (x @ w).sum().backward()
    assert x.grad.shape == (3, 4)
    (g,) = ad.autograd.grad((x * x * x).sum(), x, create_graph=True)
    (gg,) = ad.autograd.grad(g.sum(), x)
    assert (g.is_meta, gg.is_meta, gg.shape) == (True, True, (3, 4))


def test_forward_mode():
    import adjoint.autograd.forward_ad as fwAD

    with fwAD.dual_level():
        dual = fwAD.make_dual(on_meta(3), on_meta(3))
        tangent = fwAD.unpack_dual(dual.exp() * dual).tangent
        assert (tangent.is_meta, tangent.shape) == (True, (3,))


def test_modules():
    layer = ad.nn.Linear(3, 4, device="meta")
    assert layer.weight.is_meta
    y = layer(on_meta(5, 3))
    y.sum().backward()
    assert (y.shape, layer.weight.grad.shape, layer.bias.grad.shape) == ((5, 4), (4, 3), (4,))
    assert layer.weight.grad.is_meta
    assert ad.nn.Linear(3, 4).to("meta").bias.is_meta
    with pytest.raises(NotImplementedError, match=r"Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty\(\)"):
        layer.to("cpu")
    assert not layer.to_empty(device="cpu").weight.is_meta


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda device: ad.nn.Linear(3, 4, device=device), (5, 3)),
        (lambda device: ad.nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2, device=device), (2, 4, 8, 9)),
        (lambda device: ad.nn.ConvTranspose2d(3, 4, 3, stride=2, device=device), (2, 3, 4, 5)),
        (lambda device: ad.nn.BatchNorm2d(3, device=device), (2, 3, 4, 4)),
        (lambda device: ad.nn.LayerNorm(5, device=device), (2, 5)),
        (lambda device: ad.nn.GroupNorm(2, 4, device=device), (2, 4, 3)),
        (lambda device: ad.nn.Dropout(0.5), (3, 4)),
    ],
)
def test_layers_give_the_same_shapes(make, shape):
    def facts_on(device):
        layer = make(device)
        x = ad.rand(*shape, device=device).requires_grad_()
        y = layer(x)
        y.sum().backward()
        found = [y, x.grad, *(p.grad for p in layer.parameters())]
        assert all(t.device.type == device for t in found)
        return [(t.shape, t.dtype) for t in found]

    assert facts_on("meta") == facts_on("cpu")


def test_embedding():
    layer = ad.nn.Embedding(10, 4, device="meta")
    y = layer(on_meta(5, dtype=ad.int64))
    y.sum().backward()
    assert (y.shape, layer.weight.grad.shape, layer.weight.grad.is_meta) == ((5, 4), (10, 4), True)


def test_moving_to_the_device_is_recorded():
    x = ad.ones(2, 3, requires_grad=True)
    assert x.to("meta").requires_grad
    assert x.T.to("meta").stride() == (1, 3)
    with ad.no_grad():
        assert not x.to("meta").requires_grad
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        x.to("meta").sum().backward()


def test_sparse_tensors_may_have_no_values():
    x = ad.sparse_coo_tensor(ad.tensor([[0, 1], [2, 0]]), ad.ones(2), (2, 3))
    moved = x.to("meta")
    assert moved.is_meta and moved.is_sparse and moved.dtype is ad.float32 and x.to("meta", ad.float64).dtype is ad.float64
    assert repr(moved) == (
        "tensor(indices=tensor(..., size=(2, 2)),\n       values=tensor(..., size=(2,)),\n"
        "       device='meta', size=(2, 3), layout=torch.sparse_coo)"
    )
    for y in (moved.to_dense(), moved.to_sparse_csr(), moved + moved, moved.coalesce(), moved @ on_meta(3, 2), ad.sparse.sum(moved, 0)):
        assert y.is_meta


def test_sparse_gradients_on_the_device():
    weight = ad.ones(4, 2, device="meta", requires_grad=True)
    ad.nn.functional.embedding(ad.zeros(3, dtype=ad.int64, device="meta"), weight, sparse=True).sum().backward()
    assert weight.grad.is_meta and weight.grad.is_sparse and weight.grad.shape == (4, 2)


# ---- every op -----------------------------------------------------------------------------------------------------------------------

# Ops that cannot work without values, and why.
EXEMPT = {
    "fractional_places": "the values of the random samples decide about the regions",
    "fractional_max_pool2d_values": "the values of the random samples decide about the regions",
    "fractional_max_pool3d_values": "the values of the random samples decide about the regions",
    "allclose": "the result is a Python bool",
    "argwhere": "the shape of the result depends on the values",
    "bincount": "the shape of the result depends on the values",
    "ctc_loss": "the lengths are numbers that the computation is steered by",
    "torch.ctc_loss": "the lengths are numbers that the computation is steered by",
    "segment_reduce": "the lengths are numbers that the computation is steered by",
    "equal": "the result is a Python bool",
    **dict.fromkeys(
        ("recurrent_layer", "gru", "rnn_relu", "rnn_tanh"), "the batch sizes of packed sequences are numbers that the steps are made from"
    ),
    **dict.fromkeys(("_dirichlet_grad", "_standard_gamma_grad", "dirichlet_path", "gamma_path"), "slopes are computed from the values"),
    "histc": "the range of the bins depends on the values",
    "histogram": "the range of the bins depends on the values",
    "index": "how many elements a mask selects depends on its values",
    "index_put": "how many elements a mask selects depends on its values",
    "masked_select": "how many elements a mask selects depends on its values",
    "nonzero": "the shape of the result depends on the values",
    "place_at": "how many elements a mask selects depends on its values",
    "place_masked": "how many elements a mask selects depends on its values",
    "repeat_interleave": "how often elements are repeated may be given by a tensor",
    "unmasked_dense": "the gradient has the places of all that is not 0",
    "unique": "the shape of the result depends on the values",
    "unique_consecutive": "the shape of the result depends on the values",
    "where": "with one argument it is nonzero",
}
ROWS = load()


def tensor_facts(x):
    if not isinstance(x, ad.Tensor):
        return type(x)
    strides = tuple(stride for stride, size in zip(x.stride(), x.shape, strict=True) if size > 1) if x.numel() else ()
    return tuple(x.shape), x.dtype, strides


def run(call, device, backward):
    """Facts about the results of a call and, with `backward`, about the gradients of its inputs."""
    tensors = [t.to(device) for t in call.tensors()]
    if backward:
        tensors = [t.requires_grad_() if t.is_floating_point() else t for t in tensors]
    results = call(tensors)
    found = [tensor_facts(r) for r in flat(results)]
    if backward:
        outputs = [r for r in flat(results) if isinstance(r, ad.Tensor) and r.requires_grad]
        if outputs:
            ad.autograd.backward(outputs, [ad.ones_like(out) for out in outputs])
        grads = [t._grad for t in tensors]
        assert all(g.device.type == device for g in grads if g is not None)
        found += [None if g is None else (tuple(g.shape), g.dtype) for g in grads]
    assert not tensors or all(r.device.type == device for r in flat(results) if isinstance(r, ad.Tensor))
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(ROWS))
def test_every_op_gives_the_same_shapes_on_meta(name):
    refused = []
    for sample, backward in product(ROWS[name].samples(), (False, True)):
        call = Call(ROWS[name], sample)
        try:
            expected = run(call, "cpu", backward)
        except RuntimeError as error:  # it has no derivative
            with pytest.raises(type(error)):
                run(call, "meta", backward)
            continue
        try:
            found = run(call, "meta", backward)
        except (NotImplementedError, RuntimeError) as error:
            if name not in EXEMPT or "meta" not in str(error).lower():
                raise
            refused.append(sample)
        else:
            assert found == expected, sample
    assert bool(refused) == (name in EXEMPT), EXEMPT.get(name)
