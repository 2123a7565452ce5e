"""Convolution layers and functions, by values worked out here."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import adjoint as ad
from adjoint import _serving, nn
from adjoint.nn import functional as F
from adjoint.ops import _convolve, _direct
from adjoint.ops.fold import Blocks

LAYERS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
TRANSPOSED = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}
FUNCTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


def slowly(x, weight, stride, padding, dilation, groups):
    """Convolution by its definition."""
    dims = x.ndim - 2
    x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))
    outputs, inputs, *kernel = weight.shape
    size = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], kernel, stride, dilation, strict=True)]
    out = np.zeros((x.shape[0], outputs, *size))
    for place in np.ndindex(*size):
        where = tuple(slice(p * s, p * s + d * (k - 1) + 1, d) for p, s, d, k in zip(place, stride, dilation, kernel, strict=True))
        for o in range(outputs):
            group = o // (outputs // groups)
            seen = x[(slice(None), slice(group * inputs, (group + 1) * inputs), *where)]
            out[:, o][(slice(None), *place)] = (seen * weight[o]).sum(tuple(range(1, dims + 2)))
    return out


CASES = [
    (dims, stride, padding, dilation, groups)
    for dims in (1, 2, 3)
    for stride, padding, dilation, groups in [(1, 0, 1, 1), (2, 1, 1, 1), (1, 2, 2, 2), (3, 0, 2, 1), (2, 3, 1, 3)]
]


MATRICES = _convolve.matrices


def use(monkeypatch, way):
    """One way of computing convolutions, whatever their size: `numpy`, `compiled`, or the `columns` of one image."""
    monkeypatch.setattr(_convolve, "serves", (lambda *arrays: False) if way == "numpy" else _serving.serves)
    monkeypatch.setattr(_convolve, "FEW", 1 << 60)

    def chosen(*facts):
        found = MATRICES.__wrapped__(*facts)
        return None if isinstance(found, Blocks) and way != "columns" else found

    monkeypatch.setattr(_convolve, "matrices", chosen)


@pytest.fixture(params=["numpy", "compiled", "columns"])
def compiled(request, monkeypatch):
    """All ways of computing a convolution. (Without llvmlite the second is the first.)"""
    use(monkeypatch, request.param)


@pytest.mark.parametrize(("dims", "stride", "padding", "dilation", "groups"), CASES)
def test_convolution_is_what_its_definition_says(compiled, dims, stride, padding, dilation, groups):
    rng = np.random.default_rng(0)
    size, kernel = (9, 8, 7)[:dims], (3, 2, 3)[:dims]
    x, weight = rng.normal(size=(2, 6, *size)), rng.normal(size=(6, 6 // groups, *kernel))
    expected = slowly(x, weight, (stride,) * dims, (padding,) * dims, (dilation,) * dims, groups)
    found = FUNCTIONS[dims](ad.tensor(x), ad.tensor(weight), None, stride, padding, dilation, groups)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize(("dims", "stride", "padding", "dilation", "groups"), CASES)
def test_gradients_are_the_transposes_of_the_convolution(compiled, dims, stride, padding, dilation, groups):
    """<conv(x, w), g> = <x, gradient of x> = <w, gradient of w>, since a convolution is linear in both."""
    rng = np.random.default_rng(0)
    size, kernel = (9, 8, 7)[:dims], (3, 2, 3)[:dims]
    x = ad.tensor(rng.normal(size=(2, 6, *size)), requires_grad=True)
    w = ad.tensor(rng.normal(size=(6, 6 // groups, *kernel)), requires_grad=True)
    out = FUNCTIONS[dims](x, w, None, stride, padding, dilation, groups)
    g = ad.tensor(rng.normal(size=out.shape))
    out.backward(g)
    product = (out * g).sum().item()
    assert (x.grad * x).sum().item() == pytest.approx(product)
    assert (w.grad * w).sum().item() == pytest.approx(product)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_transposed_convolution_is_the_gradient_of_a_convolution(compiled, dims):
    rng = np.random.default_rng(0)
    x = ad.tensor(rng.normal(size=(2, 4, *(6, 5, 7)[:dims])), requires_grad=True)
    w = ad.tensor(rng.normal(size=(6, 2, *[3] * dims)))
    out = FUNCTIONS[dims](x, w, stride=2, padding=1, groups=2)
    g = ad.tensor(rng.normal(size=out.shape))
    out.backward(g)
    more = [n - ((o - 1) * 2 + 1) for n, o in zip(x.shape[2:], out.shape[2:], strict=True)]
    transposed = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[dims - 1]
    found = transposed(g, w, stride=2, padding=1, groups=2, output_padding=more)
    np.testing.assert_allclose(found.numpy(), x.grad.numpy(), atol=1e-12)


def test_many_shapes_both_ways(monkeypatch):
    """Compiled code against NumPy: odd sizes, widths below and above a vector, more channels than fit into one step."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        dims = int(rng.integers(1, 4))
        size, kernel, stride, padding, dilation = (
            tuple(int(v) for v in rng.integers(low, high, dims)) for low, high in ((1, 26), (1, 5), (1, 4), (0, 4), (1, 3))
        )
        groups, samples = int(rng.integers(1, 4)), int(rng.integers(1, 5))
        inputs, outputs = groups * int(rng.integers(1, 9)), groups * int(rng.integers(1, 15))
        if any(n + 2 * p < d * (k - 1) + 1 for n, k, p, d in zip(size, kernel, padding, dilation, strict=True)):
            continue
        found = []
        for way in ("compiled", "columns", "numpy"):
            use(monkeypatch, way)
            values = np.random.default_rng(1)
            x, w, b = (
                ad.tensor(values.normal(size=shape), requires_grad=True)
                for shape in ((samples, inputs, *size), (outputs, inputs // groups, *kernel), (outputs,))
            )
            out = FUNCTIONS[dims](x, w, b, stride, padding, dilation, groups)
            out.backward(ad.tensor(values.normal(size=out.shape)))
            found.append([t.detach().numpy() for t in (out, x.grad, w.grad, b.grad)])
        for ours, columns, expected in zip(*found, strict=True):
            what = f"{size} {kernel} {stride} {padding} {dilation} {groups} {inputs} {outputs}"
            np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-10, err_msg=what)
            np.testing.assert_allclose(columns, expected, rtol=1e-10, atol=1e-10, err_msg=what)


@pytest.mark.parametrize(
    ("samples", "size", "kernel"),
    [(1, (4, 6), (1, 1)), (3, (1, 1), (1, 1)), (3, (4, 3), (4, 3)), (1, (5, 2), (5, 2)), (4, (7, 7), (1, 1)), (2, (3, 4, 5), (1, 1, 1))],
)
def test_convolutions_that_are_one_product_of_matrices(samples, size, kernel):
    rng, dims = np.random.default_rng(0), len(size)
    arrays = [rng.normal(size=shape) for shape in ((samples, 6, *size), (9, 6, *kernel), (9,))]
    x, w, b = (ad.tensor(array, requires_grad=True) for array in arrays)
    out = FUNCTIONS[dims](x, w, b)
    plain = slowly(arrays[0], arrays[1], (1,) * dims, (0,) * dims, (1,) * dims, 1)
    np.testing.assert_allclose(out.detach().numpy(), plain + arrays[2].reshape(-1, *(1,) * dims), atol=1e-12)
    g = rng.normal(size=out.shape)
    out.backward(ad.tensor(g))
    for gradient, array, (image, weight) in ((x.grad, arrays[0], (True, False)), (w.grad, arrays[1], (False, True))):
        other = rng.normal(size=array.shape)
        moved = slowly(other if image else arrays[0], other if weight else arrays[1], (1,) * dims, (0,) * dims, (1,) * dims, 1)
        np.testing.assert_allclose((gradient.numpy() * other).sum(), (moved * g).sum(), rtol=1e-12)
    given = rng.normal(size=(samples, 9, *(1,) * dims))
    spread = F.conv_transpose2d if dims == 2 else F.conv_transpose3d
    found = spread(ad.tensor(given), w, ad.tensor(np.full(6, 2.5))).detach().numpy()
    np.testing.assert_allclose(found, np.tensordot(given.reshape(samples, 9), arrays[1], 1) + 2.5, atol=1e-12)


# What is computed in a way of its own: samples, input (channels and size), kernels (outputs and size), stride, padding, groups
WAYS = {
    "fewer multiplications": (3, (14, 19, 22), (13, 3, 3), 1, 1, 1),
    "fewer multiplications in blocks of channels": (1, (150, 9, 15), (16, 3, 3), 1, 2, 1),
    "fewer multiplications in three dimensions": (2, (5, 6, 15, 17), (12, 3, 3, 3), 1, 1, 1),
    "samples together": (8, (20, 14, 14), (24, 1, 1), 1, 0, 1),
    "samples together, spread by a stride": (8, (20, 7, 7), (24, 4, 4), 2, 1, 1),
    "depthwise": (3, (6, 18, 21), (6, 3, 3), 1, 1, 6),
    "two rows": (3, (10, 18, 21), (4, 3, 3), 2, 1, 2),
    "three rows": (2, (4, 40, 33), (3, 5, 5), 1, 2, 1),
    "short lines of one row": (3, (7, 7, 9), (7, 3, 3), 1, 1, 7),
    "short lines of one row with a stride": (2, (5, 14, 13), (5, 5, 5), 2, 2, 5),
    "kernels that are folded": (8, (6, 12, 13), (20, 5, 5), 1, 0, 1),
    "kernels that are folded, a few lines at a time": (1, (3, 60, 70), (40, 7, 7), 2, 3, 1),
    "vectors of channels": (5, (37, 13, 14), (23, 3, 3), 2, 1, 1),
    "vectors of channels and of what they read": (3, (5, 21, 20), (31, 5, 4), 1, 2, 1),
    "vectors of channels, and three dimensions": (2, (18, 5, 6, 7), (9, 2, 3, 3), 2, 1, 1),
    "one element of the kernel": (4, (40, 7, 7), (50, 1, 1), 1, 0, 1),
    "one element of the kernel along the last dimensions": (2, (12, 6, 5, 7), (15, 3, 1, 1), 1, 0, 1),
    "fewer multiplications of tiny images": (16, (20, 4, 4), (70, 3, 3), 1, 1, 1),
    "one image, cut by rows": (1, (40, 14, 14), (300, 3, 3), 1, 1, 1),
    "one image, cut by rows and places": (1, (20, 31, 40), (130, 5, 5), 1, 0, 1),
    "narrow images": (4, (30, 7, 7), (33, 3, 3), 1, 1, 1),
    "narrow images with a stride": (4, (30, 12, 13), (33, 4, 4), 2, 1, 1),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_what_numpy_gives(monkeypatch, way, dtype):
    samples, (inputs, *size), (outputs, *kernel), stride, padding, groups = WAYS[way]
    found = []
    for computed in ("compiled", "columns", "numpy"):
        use(monkeypatch, computed)
        rng = np.random.default_rng(0)
        shapes = (samples, inputs, *size), (outputs, inputs // groups, *kernel), (outputs,)
        x, w, b = (ad.tensor(rng.normal(size=shape).astype(dtype), requires_grad=True) for shape in shapes)
        out = FUNCTIONS[len(size)](x, w, b, stride, padding, 1, groups)
        out.backward(ad.tensor(rng.normal(size=out.shape).astype(dtype)))
        found.append([t.detach().numpy() for t in (out, x.grad, w.grad, b.grad)])
    scale = {"float32": 1e-5, "float64": 1e-13}[dtype]
    *ours, expected = found
    for some in ours:
        for one, other in zip(some, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=scale, atol=scale * np.abs(other).max())


@pytest.mark.parametrize("way", WAYS)
def test_the_number_of_threads_changes_nothing(monkeypatch, way):
    samples, (inputs, *size), (outputs, *kernel), stride, padding, groups = WAYS[way]
    use(monkeypatch, "compiled")
    before = ad.get_num_threads()
    found = []
    try:
        for threads in (1, 3):
            ad.set_num_threads(threads)
            rng = np.random.default_rng(0)
            for plans in (_convolve.correlation_for, _convolve.scattering_for, _convolve.gradient_for, _direct.correlation):
                plans.cache_clear()  # they cut work for as many threads as there are
            shapes = (samples, inputs, *size), (outputs, inputs // groups, *kernel)
            x, w = (ad.tensor(rng.normal(size=shape).astype("float32"), requires_grad=True) for shape in shapes)
            out = FUNCTIONS[len(size)](x, w, None, stride, padding, 1, groups)
            out.backward(ad.ones_like(out))
            found.append([t.detach().numpy() for t in (out, x.grad, w.grad)])
    finally:
        ad.set_num_threads(before)
    for one, three in zip(*found, strict=True):
        np.testing.assert_array_equal(one, three)


def unaligned(array):
    """The same values at addresses that are no multiples of the size of a number."""
    memory = np.empty(array.nbytes + 1, np.uint8)
    result = memory[1:].view(array.dtype).reshape(array.shape)
    result[...] = array
    return result


@pytest.mark.parametrize("size", [6, 40])
@pytest.mark.parametrize("misplaced", ["image", "weight", "bias"])
def test_memory_that_is_not_aligned(compiled, misplaced, size):
    random = np.random.default_rng(0)
    arrays = {"image": random.random((1, 4, size, size)), "weight": random.random((6, 4, 3, 3)), "bias": random.random(6)}
    expected = slowly(arrays["image"], arrays["weight"], (1, 1), (0, 0), (1, 1), 1) + arrays["bias"][:, None, None]
    arrays[misplaced] = unaligned(arrays[misplaced])
    tensors = [ad.from_numpy(array).requires_grad_() for array in arrays.values()]
    found = F.conv2d(*tensors)
    np.testing.assert_allclose(found.detach().numpy(), expected, 1e-12)
    gradients = ad.autograd.grad(found.sum(), tensors)
    again = [ad.from_numpy(array.copy()).requires_grad_() for array in arrays.values()]
    for got, wanted in zip(gradients, ad.autograd.grad(F.conv2d(*again).sum(), again), strict=True):
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), 1e-12)


def test_infinities_and_nans_stay_where_they_are(compiled):
    x = np.zeros((1, 1, 9, 9))
    x[0, 0, 4, 4], x[0, 0, 0, 0] = np.inf, np.nan
    out = F.conv2d(ad.tensor(x), ad.ones(1, 1, 3, 3, dtype=ad.float64)).numpy()[0, 0]
    expected = np.zeros((7, 7))
    expected[2:5, 2:5] = np.inf
    expected[0, 0] = np.nan
    np.testing.assert_array_equal(out, expected)


def test_infinities_stay_where_they_are_with_many_channels(compiled):
    x, w = np.zeros((2, 16, 20, 20)), np.ones((16, 16, 3, 3))
    x[1, 3, 9, 10], x[0, 2, 0, 0] = -np.inf, np.nan
    out = F.conv2d(ad.tensor(x), ad.tensor(w), padding=1).numpy()
    expected = np.zeros((2, 16, 20, 20))
    expected[1, :, 8:11, 9:12] = -np.inf
    expected[0, :, :2, :2] = np.nan
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dilation", [1, 2, 3])
@pytest.mark.filterwarnings("ignore:Using padding='same'")
def test_same_padding_keeps_the_size(kernel, dilation):
    out = F.conv2d(ad.ones(1, 2, 13, 12), ad.ones(3, 2, kernel, kernel), padding="same", dilation=dilation)
    assert out.shape == (1, 3, 13, 12)


def test_same_padding_puts_the_odd_zero_at_the_end():
    with pytest.warns(UserWarning, match="even kernel lengths"):
        out = F.conv1d(ad.tensor([[1.0, 2.0, 3.0]]), ad.tensor([[[1.0, 10.0]]]), padding="same")
    assert out.tolist() == [[21.0, 32.0, 3.0]]


def test_half_precision_is_computed_in_single():
    x = ad.full((1, 3000, 1), 1.0, dtype=ad.float16)
    w = ad.full((1, 3000, 1), 0.1, dtype=ad.float16)
    assert F.conv1d(x, w).item() == pytest.approx(3000 * 0.1, rel=1e-3)  # a sum in half precision would stop at 256


# ---- layers -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: nn.Conv1d(3, 4, 5), "Conv1d(3, 4, kernel_size=(5,), stride=(1,))"),
        (
            lambda: nn.Conv2d(4, 8, (3, 2), 2, 1, 2, 2, False, "reflect"),
            "Conv2d(4, 8, kernel_size=(3, 2), stride=(2, 2), padding=(1, 1), dilation=(2, 2), groups=2, bias=False, padding_mode=reflect)",
        ),
        (lambda: nn.Conv3d(1, 2, 3, padding="same"), "Conv3d(1, 2, kernel_size=(3, 3, 3), stride=(1, 1, 1), padding=same)"),
        (
            lambda: nn.ConvTranspose2d(4, 2, 3, 2, output_padding=1),
            "ConvTranspose2d(4, 2, kernel_size=(3, 3), stride=(2, 2), output_padding=(1, 1))",
        ),
    ],
)
def test_repr(made, text):
    assert repr(made()) == text


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_weights_begin_within_their_bounds(dims):
    layer = LAYERS[dims](6, 40, 3, groups=2)
    bound = 1 / math.sqrt(3 * 3**dims)
    assert layer.weight.shape == (40, 3, *[3] * dims)
    for parameter in (layer.weight, layer.bias):
        assert 0.8 * bound < parameter.abs().max().item() <= bound
    assert TRANSPOSED[dims](6, 40, 3, groups=2).weight.shape == (6, 20, *[3] * dims)


@pytest.mark.parametrize(("mode", "expected"), [
    ("zeros", [3.0, 6.0, 9.0, 7.0]), ("reflect", [5.0, 6.0, 9.0, 10.0]),
    ("replicate", [4.0, 6.0, 9.0, 11.0]), ("circular", [7.0, 6.0, 9.0, 8.0]),
])  # fmt: skip
def test_padding_modes(mode, expected):
    layer = nn.Conv1d(1, 1, 3, padding=1, bias=False, padding_mode=mode)
    with ad.no_grad():
        layer.weight.fill_(1.0)
    assert layer(ad.tensor([[1.0, 2.0, 3.0, 4.0]])).tolist() == [expected]


@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
def test_unbatched_input(mode):
    layer = nn.Conv2d(2, 3, 3, padding=1, padding_mode=mode)
    x = ad.randn(2, 5, 6)
    np.testing.assert_allclose(layer(x).detach().numpy(), layer(x.unsqueeze(0))[0].detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [(11, 11), (12, 11), (12, 12)])
def test_transposed_layer_makes_the_size_that_is_asked_for(size):
    layer = nn.ConvTranspose2d(2, 3, 3, stride=2)
    assert layer(ad.ones(1, 2, 5, 5), output_size=size).shape == (1, 3, *size)
    assert layer(ad.ones(2, 5, 5), output_size=(3, *size)).shape == (3, *size)


ERRORS = [
    (lambda: nn.Conv2d(3, 4, 3, groups=2), "in_channels must be divisible by groups"),
    (lambda: nn.Conv2d(4, 3, 3, groups=2), "out_channels must be divisible by groups"),
    (lambda: nn.Conv2d(4, 3, 3, groups=0), "groups must be a positive integer"),
    (lambda: nn.Conv2d(4, 3, 3, padding="full"), "Invalid padding string 'full', should be one of {'same', 'valid'}"),
    (lambda: nn.Conv2d(4, 3, 3, padding="same", stride=2), "padding='same' is not supported for strided convolutions"),
    (lambda: nn.Conv2d(4, 3, 3, padding_mode="none"), "but got padding_mode='none'"),
    (lambda: nn.ConvTranspose2d(4, 3, 3, padding_mode="reflect"), 'Only "zeros" padding mode is supported for ConvTranspose2d'),
    (lambda: nn.ConvTranspose2d(4, 3, 3, 2)(ad.ones(1, 4, 5, 5), (20, 20)), "requested an output size of (20, 20), but valid sizes range"),
    (lambda: nn.ConvTranspose2d(4, 3, 3, 2)(ad.ones(1, 4, 5, 5), (20,)), "for 4D input, output_size must have 2 or 4 elements (got 1)"),
]


@pytest.mark.parametrize(("call", "words"), ERRORS)
def test_errors(call, words):
    with pytest.raises(ValueError) as caught:
        call()
    assert words in str(caught.value)


def test_a_layer_can_be_copied_and_its_state_loaded():
    layer = nn.Conv2d(2, 3, 3)
    other = copy.deepcopy(layer)
    assert other.weight is not layer.weight
    x = ad.randn(1, 2, 5, 5)
    assert ad.equal(other(x), layer(x))
    fresh = nn.Conv2d(2, 3, 3)
    fresh.load_state_dict(layer.state_dict())
    assert ad.equal(fresh(x), layer(x))


def test_third_derivatives():
    x = ad.randn(1, 1, 4, 4, dtype=ad.float64, requires_grad=True)
    w = ad.randn(1, 1, 2, 2, dtype=ad.float64, requires_grad=True)

    def cubed(x, w):
        return (F.conv2d(x, w) ** 3).sum()

    assert ad.autograd.gradgradcheck(cubed, (x, w))
    (g,) = ad.autograd.grad(cubed(x, w), w, create_graph=True)
    (h,) = ad.autograd.grad(g.sum(), w, create_graph=True)
    (third,) = ad.autograd.grad(h.sum(), w)
    with ad.no_grad():
        e = 1e-5

        def second(w):
            with ad.enable_grad():
                w = w.detach().requires_grad_()
                (g,) = ad.autograd.grad(cubed(x.detach(), w), w, create_graph=True)
                return ad.autograd.grad(g.sum(), w)[0].sum().item()

        step = ad.zeros_like(w)
        step[0, 0, 0, 0] = e
        assert third[0, 0, 0, 0].item() == pytest.approx((second(w + step) - second(w - step)) / (2 * e), rel=1e-5)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_of_no_channels_none_are_made(count):
    """As in PyTorch, where not even the bias is added."""
    weight, bias = ad.ones(5, 0, *[3] * count, requires_grad=True), ad.ones(5, requires_grad=True)
    x = ad.ones(2, 0, *[6] * count, requires_grad=True)
    result = FUNCTIONS[count](x, weight, bias, padding=1)
    assert result.shape == (2, 0, *[6] * count)
    result.sum().backward()
    assert x.grad.shape == x.shape and weight.grad.shape == weight.shape and bias.grad.tolist() == [0.0] * 5


def test_the_native_convolution_takes_batches_only():
    with pytest.raises(RuntimeError, match="Expected 3-dimensional input for 3-dimensional weight"):
        ad.convolution(ad.ones(1, 4), ad.ones(1, 1, 2), None, [1], [0], [1], False, [0], 1)
