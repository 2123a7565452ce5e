"""How results and gradients lie in memory: the strides are PyTorch's, whatever those of the input are."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def two_threads():
    """With one thread PyTorch convolves by other code, whose results lie in memory differently."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)



def numbers(lib, *shape, dtype="float32"):
    return lib.tensor((np.sin(np.arange(np.prod(shape)) * 1.7 + 1) * 2).astype(dtype).reshape(shape))


def last(lib, x):
    return x.contiguous(memory_format=lib.channels_last if x.ndim == 4 else lib.channels_last_3d)


FORMS = {
    4: {
        "contiguous": lambda lib: numbers(lib, 2, 4, 6, 8),
        "channels last": lambda lib: last(lib, numbers(lib, 2, 4, 6, 8)),
        "one image": lambda lib: last(lib, numbers(lib, 1, 4, 6, 8)),
        "one channel": lambda lib: last(lib, numbers(lib, 2, 1, 6, 8)),
        "a part": lambda lib: last(lib, numbers(lib, 2, 4, 9, 10))[:, :, 1:7, 2:],
        "every second": lambda lib: last(lib, numbers(lib, 2, 4, 12, 16))[:, :, ::2, ::2],
        "some channels": lambda lib: last(lib, numbers(lib, 2, 8, 6, 8))[:, 2:6],
        "with gaps": lambda lib: numbers(lib, 2, 4, 9, 10)[:, :, 1:7, 2:],
        "transposed": lambda lib: numbers(lib, 2, 4, 8, 6).transpose(2, 3),
        "permuted": lambda lib: numbers(lib, 8, 6, 4, 2).permute(3, 2, 1, 0),
        "expanded": lambda lib: numbers(lib, 2, 1, 6, 8).expand(2, 4, 6, 8),
    },
    5: {
        "contiguous": lambda lib: numbers(lib, 2, 4, 4, 6, 8),
        "channels last": lambda lib: last(lib, numbers(lib, 2, 4, 4, 6, 8)),
        "one channel": lambda lib: last(lib, numbers(lib, 2, 1, 4, 6, 8)),
        "a part": lambda lib: last(lib, numbers(lib, 2, 4, 4, 9, 10))[..., 1:7, 2:],
        "transposed": lambda lib: numbers(lib, 2, 4, 8, 6, 4).transpose(2, 4),
        "expanded": lambda lib: numbers(lib, 2, 1, 4, 6, 8).expand(2, 4, 4, 6, 8),
    },
    3: {
        "contiguous": lambda lib: numbers(lib, 2, 4, 8),
        "channels last": lambda lib: numbers(lib, 2, 8, 4).transpose(1, 2),
        "permuted": lambda lib: numbers(lib, 8, 4, 2).transpose(0, 2),
        "with gaps": lambda lib: numbers(lib, 2, 4, 10)[:, :, 1:9],
    },
    2: {
        "contiguous": lambda lib: numbers(lib, 4, 8),
        "transposed": lambda lib: numbers(lib, 8, 4).t(),
        "with gaps": lambda lib: numbers(lib, 4, 16)[:, ::2],
        "transposed with gaps": lambda lib: numbers(lib, 16, 4).t()[:, ::2],
        "a row expanded": lambda lib: numbers(lib, 1, 8).expand(4, 8),
        "a column expanded": lambda lib: numbers(lib, 4, 1).expand(4, 8),
    },
}
CASES = {}


def case(name, function, *ranks):
    for rank in ranks:
        CASES[rank, name] = function


def functional(name, *args, **kwargs):
    return lambda lib, x: getattr(lib.nn.functional, name)(x, *args, **kwargs)


# ---- images -------------------------------------------------------------------------------------------------------------------------

for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
    case(f"interpolate {mode}", functional("interpolate", scale_factor=2, mode=mode), 4)
    case(f"interpolate {mode} to a size", functional("interpolate", size=(5, 3), mode=mode), 4)
for mode in ("bilinear", "bicubic"):
    case(f"interpolate {mode} corners", functional("interpolate", size=(5, 3), mode=mode, align_corners=True), 4)
    case(f"interpolate {mode} antialias", functional("interpolate", size=(3, 5), mode=mode, antialias=True), 4)
for mode in ("nearest", "nearest-exact", "trilinear", "area"):
    case(f"interpolate {mode}", functional("interpolate", scale_factor=2, mode=mode), 5)
for mode in ("nearest", "linear", "area"):
    case(f"interpolate {mode}", functional("interpolate", scale_factor=2, mode=mode), 3)


def convolution(dims, kernel, groups=False, transposed=False, format=False, **kwargs):
    def function(lib, x):
        channels = x.shape[1]
        shape = (channels, 1) if groups else (channels, 3) if transposed else (3, channels)
        weight = numbers(lib, *shape, *[kernel] * dims)
        call = getattr(lib.nn.functional, f"conv{'_transpose' * transposed}{dims}d")
        return call(x, last(lib, weight) if format else weight, groups=channels if groups else 1, **kwargs)

    return function


for dims in (1, 2, 3):
    rank = dims + 2
    case("convolution", convolution(dims, 3, padding=1), rank)
    case("pointwise convolution", convolution(dims, 1), rank)
    case("depthwise convolution", convolution(dims, 3, groups=True), rank)
    case("transposed convolution", convolution(dims, 2, transposed=True, stride=2), rank)
    if dims > 1:
        case("channels last in the weight", convolution(dims, 3, format=True), rank)
    for name in ("max_pool", "avg_pool", "adaptive_max_pool", "adaptive_avg_pool"):
        case(name, functional(f"{name}{dims}d", 2), rank)
    case("max_pool with indices", functional(f"max_pool{dims}d", 2, return_indices=True), rank)
    case("lp_pool", functional(f"lp_pool{dims}d", 2, 2), rank)
    case("max_unpool", lambda lib, x, dims=dims: getattr(lib.nn.functional, f"max_unpool{dims}d")(
        *getattr(lib.nn.functional, f"max_pool{dims}d")(x, 2, return_indices=True), 2), rank)  # fmt: skip
    case("batch_norm", functional("batch_norm", None, None, training=True), rank)
    case("batch_norm in evaluation", lambda lib, x: lib.nn.functional.batch_norm(x, lib.zeros(x.shape[1]), lib.ones(x.shape[1])), rank)
    case("group_norm", functional("group_norm", 1), rank)
    case("instance_norm", functional("instance_norm"), rank)
    case("layer_norm", functional("layer_norm", (8,)) if dims != 3 else functional("layer_norm", (6, 8)), rank)
    case("rms_norm", lambda lib, x: lib.nn.functional.rms_norm(x, x.shape[-1:]), rank)
    for mode in ("constant", "reflect", "replicate", "circular"):
        case(f"pad {mode}", functional("pad", (1, 1) * dims, mode=mode), rank)
    case("dropout of channels", functional(f"dropout{dims}d", 0.5, True), rank)
    case("dropout", functional("dropout", 0.5, True), rank)
    case("alpha_dropout", functional("alpha_dropout", 0.5, True), rank)
case("pixel_unshuffle", functional("pixel_unshuffle", 2), 4)
case("channel_shuffle", functional("channel_shuffle", 1), 4)
case("adaptive_avg_pool to one", functional("adaptive_avg_pool2d", 1), 4)

# ---- element by element -------------------------------------------------------------------------------------------------------------

for name in ("abs", "exp", "neg", "sqrt", "sigmoid", "tanh", "sign", "isnan", "logical_not", "erf", "round", "square", "rsqrt", "clone"):
    case(name, lambda lib, x, name=name: getattr(lib, name)(x), 2, 4)
for name in ("relu", "elu", "gelu", "silu", "hardtanh", "hardswish", "leaky_relu", "softplus", "softsign", "selu", "mish"):
    case(name, functional(name), 2, 3, 4)
for name in ("double", "half", "int", "bool", "contiguous", "detach"):
    case(name, lambda lib, x, name=name: getattr(x, name)(), 2, 4)
for name in ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like"):
    case(name, lambda lib, x, name=name: getattr(lib, name)(x), 2, 4)
PAIRS = {
    "with a number": lambda lib, x: x * 2 + 1,
    "with a single element": lambda lib, x: x * lib.tensor(2.0),
    "with itself": lambda lib, x: x + x,
    "first": lambda lib, x: x - lib.ones(x.shape),
    "second": lambda lib, x: lib.ones(x.shape) * x,
    "with a row": lambda lib, x: x / lib.ones(x.shape[-1]),
    "after a row": lambda lib, x: lib.ones(x.shape[-1]) + x,
    "with a column": lambda lib, x: x + lib.ones(x.shape[-2], 1),
    "of two dtypes": lambda lib, x: x + lib.ones(x.shape, dtype=lib.float64),
    "compared": lambda lib, x: x < lib.ones(x.shape),
    "maximum": lambda lib, x: lib.maximum(x, lib.ones(x.shape)),
    "pow": lambda lib, x: lib.pow(x.abs(), x),
    "lerp": lambda lib, x: lib.lerp(x, lib.ones(x.shape), 0.3),
    "lerp to": lambda lib, x: lib.lerp(lib.ones(x.shape), x, 0.3),
    "addcmul": lambda lib, x: lib.addcmul(x, lib.ones(x.shape), x),
    "clamp": lambda lib, x: x.clamp(0, 1),
    "where": lambda lib, x: lib.where(x > 0, x, lib.ones(x.shape)),
    "where it says": lambda lib, x: lib.where(lib.ones(x.shape) > 0, x, x),
    "flip": lambda lib, x: x.flip(0),
    "sort": lambda lib, x: x.sort(1),
    "index_fill": lambda lib, x: x.index_fill(1, lib.tensor([0]), 1.0),
    "mse_loss": lambda lib, x: lib.nn.functional.mse_loss(x, lib.ones(x.shape), reduction="none"),
    "huber_loss": lambda lib, x: lib.nn.functional.huber_loss(x, lib.ones(x.shape), reduction="none"),
    "bce_with_logits": lambda lib, x: lib.nn.functional.binary_cross_entropy_with_logits(x, lib.ones(x.shape), reduction="none"),
    "one_hot": lambda lib, x: lib.nn.functional.one_hot((x > 0).long(), 3),
}
for name, function in PAIRS.items():
    case(name, function, 2, 4)
case("with channels", lambda lib, x: x * lib.ones(x.shape[1], 1, 1), 4)
case("in channels_last", lambda lib, x: x.to(memory_format=lib.channels_last), 4)


case("in double precision", lambda lib, x: lib.nn.functional.conv3d(
    x.double(), lib.ones(2, x.shape[1], 2, 2, 2, dtype=lib.float64)), 5)  # fmt: skip
for dim in (0, 1, -1):
    case(f"cat {dim}", lambda lib, x, dim=dim: lib.cat([x, x], dim), 2, 4, 5)
    case(f"cat with another {dim}", lambda lib, x, dim=dim: lib.cat([x, lib.ones(x.shape)], dim), 4)


def strides(result):
    return [(tuple(x.shape), tuple(x.stride())) for x in (result if isinstance(result, tuple) else (result,))]


def facts(lib, make, function):
    x = make(lib).detach().requires_grad_(True)
    result = function(lib, x)
    found = {"result": strides(result)}
    first = result[0] if isinstance(result, tuple) else result
    if first.requires_grad:
        first.backward(lib.ones_like(first))
        found["gradient"] = strides(x.grad)
    return found


@pytest.mark.parametrize(("rank", "name"), CASES)
def test_results_and_gradients_have_the_strides_of_pytorch(rank, name):
    for form, make in FORMS[rank].items():
        assert facts(ad, make, CASES[rank, name]) == facts(torch, make, CASES[rank, name]), form


def layers(lib):
    return lib.nn.Sequential(
        lib.nn.Conv2d(3, 4, 3, padding=1), lib.nn.BatchNorm2d(4), lib.nn.ReLU(), lib.nn.MaxPool2d(2), lib.nn.Conv2d(4, 8, 1),
        lib.nn.AdaptiveAvgPool2d(2), lib.nn.Dropout2d(), lib.nn.Upsample(scale_factor=2, mode="bilinear"), lib.nn.PixelUnshuffle(2),
    )  # fmt: skip


@pytest.mark.parametrize("of_layers", [False, True])
def test_layers_in_channels_last(of_layers):
    found = []
    for lib in (torch, ad):
        model = layers(lib).to(memory_format=lib.channels_last) if of_layers else layers(lib)
        x = last(lib, numbers(lib, 2, 3, 8, 8)).requires_grad_()
        results = [x]
        for layer in model:
            results.append(layer(results[-1]))
        results[-1].sum().backward()
        found.append([strides(y) for y in (*results, x.grad, *model.parameters(), *(p.grad for p in model.parameters()))])
    assert found[0] == found[1]


def test_on_the_meta_device():
    found = []
    for lib in (torch, ad):
        x = lib.empty(2, 4, 6, 8, device="meta", memory_format=lib.channels_last)
        results = x, x + 1, x.relu(), lib.nn.functional.max_pool2d(x, 2), lib.nn.functional.interpolate(x, (3, 3))
        found.append([strides(y) for y in results])
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(40))
def test_operands_in_any_order(seed):
    """Random strides of up to three operands, some of which are broadcast."""
    rng = np.random.default_rng(seed)
    full = rng.integers(2, 5, rng.integers(1, 6)).tolist()

    def operand():
        own = full if rng.random() < 0.7 else full[rng.integers(len(full)) :]
        order = rng.permutation(len(own)).tolist()
        every = [slice(None, None, int(rng.integers(1, 3))) for _ in own]
        shape = [own[dim] * every[dim].step for dim in order]
        inverse = np.argsort(order).tolist()
        narrow = [int(rng.random() < 0.2) for _ in own]
        return lambda lib: numbers(lib, *shape).permute(inverse)[tuple(every)][tuple(slice(0, 1) if n else slice(None) for n in narrow)]

    made = [operand() for _ in range(3)]
    for function in (lambda lib, x, y, z: x.exp(), lambda lib, x, y, z: x + y, lambda lib, *all: lib.addcmul(*all),
                     lambda lib, x, y, z: lib.where(x > 0, y, z)):  # fmt: skip
        results = [function(lib, *[one(lib) for one in made]) for lib in (torch, ad)]
        moving = [dim for dim, size in enumerate(results[0].shape) if size > 1]
        assert results[0].shape == tuple(results[1].shape)
        assert [results[0].stride(dim) for dim in moving] == [results[1].stride(dim) for dim in moving]
        np.testing.assert_allclose(results[0].numpy(), results[1].numpy(), rtol=1e-5)
