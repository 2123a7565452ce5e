"""Layers with all their arguments: made with equal random numbers, called several times, differentiated, with hooks, once or twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..generate import Builder, EndError
from ..program import Ref

# What a family makes: the arguments of the layer, and the shapes of what it is called with.
Made = tuple[tuple[Any, ...], dict[str, Any], list[tuple[int, ...]]]


def some(b: Builder, **choices: Any) -> dict[str, Any]:
    """Some of the named arguments, each one of its choices."""
    return {name: b.pick(options) for name, options in choices.items() if b.chance(0.45)}


def each(b: Builder, rank: int, *numbers: int) -> int | tuple[int, ...]:
    """One number, or one for each dimension."""
    return b.pick(numbers) if b.chance(0.6) else tuple(b.pick(numbers) for _ in range(rank))


def image(b: Builder, channels: int, rank: int, least: int = 3, most: int = 7) -> tuple[int, ...]:
    batch = () if b.chance(0.15) else (b.pick([1, 2, 3]),)
    return (*batch, channels, *(b.random.randint(least, most) for _ in range(rank)))


def convolution(b: Builder, rank: int) -> Made:
    groups = b.pick([1, 1, 1, 2])
    channels, out = groups * b.pick([1, 2, 3]), groups * b.pick([1, 2, 4])
    kwargs = some(b, stride=[each(b, rank, 1, 2, 3)], dilation=[each(b, rank, 1, 2)], bias=[False])
    kwargs |= some(b, padding_mode=["zeros", "reflect", "replicate", "circular"])
    kwargs |= some(b, padding=[each(b, rank, 0, 1, 2), "same", "valid"]) | ({"groups": groups} if groups > 1 else {})
    return (channels, out, each(b, rank, 1, 2, 3)), kwargs, [image(b, channels, rank, 4)]


def transposed(b: Builder, rank: int) -> Made:
    groups = b.pick([1, 1, 2])
    channels, out = groups * b.pick([1, 2]), groups * b.pick([1, 2])
    kwargs = some(b, stride=[each(b, rank, 2, 3)], padding=[each(b, rank, 0, 1)], output_padding=[each(b, rank, 0, 1)])
    kwargs |= some(b, bias=[False], dilation=[each(b, rank, 1, 2)])
    return (channels, out, each(b, rank, 1, 2, 3)), kwargs | ({"groups": groups} if groups > 1 else {}), [image(b, channels, rank, 2, 4)]


def max_pool(b: Builder, rank: int) -> Made:
    kwargs = some(b, stride=[each(b, rank, 1, 2, 3)], padding=[each(b, rank, 0, 1)], dilation=[each(b, rank, 1, 2)])
    kwargs |= some(b, ceil_mode=[True], return_indices=[True])
    return (each(b, rank, 2, 3),), kwargs, [image(b, b.pick([1, 2]), rank, 5)]


def average_pool(b: Builder, rank: int) -> Made:
    kwargs = some(b, stride=[each(b, rank, 1, 2, 3)], padding=[each(b, rank, 0, 1)], ceil_mode=[True], count_include_pad=[False])
    kwargs |= some(b, divisor_override=[1, 3, -2]) if rank > 1 else {}
    return (each(b, rank, 2, 3),), kwargs, [image(b, b.pick([1, 2]), rank, 4)]


def adaptive_pool(b: Builder, rank: int) -> Made:
    size: Any = each(b, rank, 1, 2, 3, 5)
    if isinstance(size, tuple) and b.chance(0.2) and rank > 1:
        size = (None, *size[1:])
    return (size,), {}, [image(b, b.pick([1, 2]), rank)]


def adaptive_max_pool(b: Builder, rank: int) -> Made:
    args, _, shapes = adaptive_pool(b, rank)
    return args, some(b, return_indices=[True]), shapes


def power_pool(b: Builder, rank: int) -> Made:
    return (b.pick([1, 2, 3.0]), each(b, rank, 2, 3)), some(b, stride=[1, 2], ceil_mode=[True]), [image(b, 2, rank, 4)]


def batch_norm(b: Builder, rank: int) -> Made:
    channels = b.pick([1, 2, 3])
    kwargs = some(b, eps=[1e-3, 0.1], momentum=[0.5, None, 0.0], affine=[False], track_running_stats=[False])
    shape = (b.pick([2, 3]), channels, *(b.random.randint(1, 4) for _ in range(rank if rank > 1 or b.chance(0.5) else 0)))
    return (channels,), kwargs, [shape]


def instance_norm(b: Builder, rank: int) -> Made:
    channels = b.pick([1, 2, 3])
    kwargs = some(b, eps=[1e-3, 0.1], momentum=[0.5, 0.0], affine=[True], track_running_stats=[True])
    return (channels,), kwargs, [image(b, channels, rank, 2, 4)]


def group_norm(b: Builder, rank: int) -> Made:
    groups = b.pick([1, 2])
    channels = groups * b.pick([1, 2, 3])
    return (groups, channels), some(b, eps=[1e-3, 0.1], affine=[False]), [(b.pick([1, 2]), channels, *b.shape(0, 3))]


def layer_norm(b: Builder, rank: int) -> Made:
    shape = b.shape(1, 2)
    return (shape,), some(b, eps=[1e-3, 0.1], elementwise_affine=[False], bias=[False]), [(*b.shape(0, 2), *shape)]


def rms_norm(b: Builder, rank: int) -> Made:
    shape = b.shape(1, 2)
    return (shape,), some(b, eps=[1e-3, 0.1], elementwise_affine=[False]), [(*b.shape(0, 2), *shape)]


def response_norm(b: Builder, rank: int) -> Made:
    return (b.pick([1, 2, 3]),), some(b, alpha=[0.1], beta=[0.5, 1.0], k=[2.0]), [image(b, 4, b.pick([1, 2, 3]), 1, 3)]


def padding(b: Builder, rank: int) -> Made:
    size = b.pick([1, 2]) if b.chance(0.3) else tuple(b.pick([0, 1, 2, -1]) for _ in range(2 * rank))
    return (size,), {}, [image(b, 2, rank, 3)]


def constant_padding(b: Builder, rank: int) -> Made:
    (size,), _, shapes = padding(b, rank)
    return (size, b.pick([0.0, 1.5, -2])), {}, shapes


def linear(b: Builder, rank: int) -> Made:
    n, m = b.pick([1, 2, 3, 5]), b.pick([1, 2, 4])
    return (n, m), some(b, bias=[False]), [(*b.shape(0, 3), n)]


def bilinear(b: Builder, rank: int) -> Made:
    n, m, shape = b.pick([1, 2, 3]), b.pick([1, 2, 4]), b.shape(0, 2)
    return (n, m, b.pick([1, 2])), some(b, bias=[False]), [(*shape, n), (*shape, m)]


def anything(b: Builder, rank: int) -> Made:
    return (), {}, [b.shape()]


def recurrent(b: Builder, rank: int) -> Made:
    n, h, batch, steps = b.pick([1, 2, 3]), b.pick([1, 2, 4]), b.pick([1, 2]), b.pick([1, 2, 4])
    kwargs = some(b, num_layers=[2], bias=[False], batch_first=[True], bidirectional=[True])
    shape = (steps, n) if b.chance(0.15) else ((batch, steps, n) if kwargs.get("batch_first") else (steps, batch, n))
    layers = kwargs.get("num_layers", 1) * (2 if kwargs.get("bidirectional") else 1)
    state = (layers, h) if len(shape) == 2 else (layers, batch, h)
    return (n, h), kwargs, [shape, state] if b.chance(0.4) else [shape]


def rnn(b: Builder, rank: int) -> Made:
    args, kwargs, shapes = recurrent(b, rank)
    return args, kwargs | some(b, nonlinearity=["relu", "tanh"]), shapes


def lstm(b: Builder, rank: int) -> Made:
    args, kwargs, shapes = recurrent(b, rank)
    return args, kwargs | (some(b, proj_size=[1]) if args[1] > 1 else {}), shapes[:1]


def cell(b: Builder, rank: int) -> Made:
    n, h, batch = b.pick([1, 2, 3]), b.pick([1, 2, 4]), () if b.chance(0.2) else (b.pick([1, 2]),)
    return (n, h), some(b, bias=[False]), [(*batch, n), (*batch, h)] if b.chance(0.5) else [(*batch, n)]


def lstm_cell(b: Builder, rank: int) -> Made:
    args, kwargs, shapes = cell(b, rank)
    return args, kwargs, shapes[:1]


def attention(b: Builder, rank: int) -> Made:
    heads = b.pick([1, 2])
    width, batch, length, source = heads * b.pick([1, 2, 4]), b.pick([1, 2]), b.pick([1, 3]), b.pick([2, 3])
    kwargs = some(b, bias=[False], add_bias_kv=[True], add_zero_attn=[True], batch_first=[True], kdim=[3], vdim=[2])
    sizes = [(length, width), (source, kwargs.get("kdim", width)), (source, kwargs.get("vdim", width))]
    if b.chance(0.15):
        return (width, heads), kwargs, list(sizes)
    return (width, heads), kwargs, [(batch, n, w) if kwargs.get("batch_first") else (n, batch, w) for n, w in sizes]


def encoder_layer(b: Builder, rank: int) -> Made:
    heads = b.pick([1, 2])
    width = heads * b.pick([2, 4])
    kwargs = {"dropout": 0.0, "dim_feedforward": b.pick([3, 8])}
    kwargs |= some(b, activation=["gelu", "relu"], layer_norm_eps=[1e-3], batch_first=[True], norm_first=[True], bias=[False])
    return (width, heads), kwargs, [(b.pick([1, 2, 3]), b.pick([1, 2]), width)]


def decoder_layer(b: Builder, rank: int) -> Made:
    args, kwargs, (shape,) = encoder_layer(b, rank)
    return args, kwargs, [shape, shape]


def upsample(b: Builder, rank: int) -> Made:
    rank = b.pick([1, 2, 3])
    modes = [["linear"], ["bilinear", "bicubic"], ["trilinear"]][rank - 1]
    kwargs: dict[str, Any] = {"mode": b.pick(["nearest", "nearest-exact", *modes])}
    kwargs |= {"size": each(b, rank, 1, 3, 5, 8)} if b.chance(0.5) else {"scale_factor": b.pick([0.5, 1.5, 2, 2.0, 2.3, (2.0,) * rank])}
    if "linear" in kwargs["mode"] or kwargs["mode"] == "bicubic":
        kwargs |= some(b, align_corners=[True, False])
    if "scale_factor" in kwargs:
        kwargs |= some(b, recompute_scale_factor=[True])
    return (), kwargs, [(b.pick([1, 2]), b.pick([1, 2, 3]), *(b.random.randint(2, 5) for _ in range(rank)))]


def fold(b: Builder, rank: int) -> Made:
    kernel, stride, out = b.pick([1, 2]), b.pick([1, 2]), b.pick([4, 5])
    blocks = ((out - kernel) // stride + 1) ** 2
    return (out, kernel), {"stride": stride}, [(b.pick([1, 2]), 2 * kernel * kernel, blocks)]


def unfold(b: Builder, rank: int) -> Made:
    kwargs = some(b, stride=[each(b, 2, 1, 2)], padding=[each(b, 2, 0, 1)], dilation=[each(b, 2, 1, 2)])
    return (each(b, 2, 1, 2, 3),), kwargs, [image(b, 2, 2, 4)]


def activation(**choices: Any) -> Callable[[Builder, int], Made]:
    def made(b: Builder, rank: int) -> Made:
        return (), some(b, **choices), [b.shape()]

    return made


RANKED = {
    "Conv": convolution, "ConvTranspose": transposed, "MaxPool": max_pool, "AvgPool": average_pool, "AdaptiveAvgPool": adaptive_pool,
    "AdaptiveMaxPool": adaptive_max_pool, "LPPool": power_pool, "BatchNorm": batch_norm, "InstanceNorm": instance_norm,
    "ReflectionPad": padding, "ReplicationPad": padding, "CircularPad": padding, "ZeroPad": padding, "ConstantPad": constant_padding,
}  # fmt: skip
LAYERS: dict[str, tuple[Callable[[Builder, int], Made], int]] = {
    f"{name}{rank}d": (family, rank) for name, family in RANKED.items() for rank in (1, 2, 3)
}
LAYERS |= {name: (family, 0) for name, family in {
    "GroupNorm": group_norm, "LayerNorm": layer_norm, "RMSNorm": rms_norm, "LocalResponseNorm": response_norm, "Linear": linear,
    "Bilinear": bilinear, "RNN": rnn, "LSTM": lstm, "GRU": recurrent, "RNNCell": cell, "LSTMCell": lstm_cell, "GRUCell": cell,
    "MultiheadAttention": attention, "TransformerEncoderLayer": encoder_layer, "TransformerDecoderLayer": decoder_layer,
    "Upsample": upsample, "Fold": fold, "Unfold": unfold, "Identity": anything,
    "ReLU": activation(inplace=[True]), "ReLU6": activation(inplace=[True]), "SELU": activation(inplace=[True]),
    "SiLU": activation(inplace=[True]), "Mish": activation(inplace=[True]), "Hardswish": activation(inplace=[True]),
    "Hardsigmoid": activation(inplace=[True]), "ELU": activation(alpha=[0.5, 2.0], inplace=[True]),
    "CELU": activation(alpha=[0.5, 2.0], inplace=[True]), "GELU": activation(approximate=["tanh", "none"]),
    "LeakyReLU": activation(negative_slope=[0.2, 0.0], inplace=[True]),
    "Threshold": lambda b, rank: ((0.1, b.pick([0.0, 3.0])), some(b, inplace=[True]), [b.shape()]),
    "Hardtanh": activation(min_val=[-0.5, -2.0], max_val=[0.5, 3.0], inplace=[True]), "Hardshrink": activation(lambd=[0.1, 0.0]),
    "Softshrink": activation(lambd=[0.1, 0.0]), "Softplus": activation(beta=[0.5, 3], threshold=[1, 30]), "Softsign": activation(),
    "Tanhshrink": activation(), "LogSigmoid": activation(), "Sigmoid": activation(), "Tanh": activation(),
    "Softmax": activation(dim=[0, -1]), "LogSoftmax": activation(dim=[0, -1]), "Softmin": activation(dim=[0, -1]),
    "PReLU": lambda b, rank: ((), {}, [b.shape()]), "GLU": lambda b, rank: ((), some(b, dim=[-1]), [(*b.shape(0, 2), 4)]),
    "RReLU": activation(lower=[0.1], upper=[0.2, 0.5], inplace=[True]), "Dropout": activation(p=[0.0, 0.3, 1.0], inplace=[True]),
    "AlphaDropout": activation(p=[0.0, 0.3, 1.0]), "FeatureAlphaDropout": lambda b, rank: ((), some(b, p=[0.3]), [image(b, 3, 2)]),
    "Dropout1d": lambda b, rank: ((), some(b, p=[0.3], inplace=[True]), [image(b, 3, 1)]),
    "Dropout2d": lambda b, rank: ((), some(b, p=[0.3], inplace=[True]), [(2, *image(b, 3, 2)[-3:])]),
    "Dropout3d": lambda b, rank: ((), some(b, p=[0.3]), [(2, *image(b, 3, 3, 1, 3)[-4:])]),
    "PixelShuffle": lambda b, rank: ((b.pick([1, 2]),), {}, [(*b.shape(0, 1), 4, 2, 3)]),
    "PixelUnshuffle": lambda b, rank: ((b.pick([1, 2]),), {}, [(*b.shape(0, 1), 2, 4, 2)]),
    "ChannelShuffle": lambda b, rank: ((2,), {}, [(2, 4, 2, 3)]),
    "Flatten": lambda b, rank: ((), some(b, start_dim=[0, 1, -2], end_dim=[-1, 2]), [b.shape(1, 4)]),
    "Unflatten": lambda b, rank: ((1, (2, -1)), {}, [(3, 4, *b.shape(0, 1))]),
    "CosineSimilarity": lambda b, rank: ((), some(b, dim=[0, -1], eps=[0.1]), [(3, 4), (3, 4)]),
    "PairwiseDistance": lambda b, rank: ((), some(b, p=[1.0, 2.0, 3.0], eps=[0.1], keepdim=[True]), [(3, 4), (3, 4)]),
    "Softmax2d": lambda b, rank: ((), {}, [image(b, 3, 2)]),
    "Embedding": lambda b, rank: (
        (5, 3), some(b, padding_idx=[0, -1], max_norm=[1.0], norm_type=[1.0], scale_grad_by_freq=[True]), [b.shape(0, 2)]
    ),
    "EmbeddingBag": lambda b, rank: ((5, 3), some(b, mode=["sum", "mean", "max"], padding_idx=[0, -1], max_norm=[1.0]), [(2, 3)]),
}.items()}  # fmt: skip

HOOKS = (
    ".register_forward_pre_hook(lambda m, a: tuple(x * 2 for x in a))",
    ".register_forward_hook(lambda m, a, out: log.append(len(a)))",
    ".register_full_backward_hook(lambda m, gi, go: log.append([g is None for g in (*gi, *go)]))",
    ".register_full_backward_hook(lambda m, gi, go: tuple(None if g is None else g * 2 for g in gi))",
    ".register_full_backward_pre_hook(lambda m, go: tuple(g * 2 for g in go))",
)


def called(b: Builder, name: str, layer: Ref, shapes: list[tuple[int, ...]], kind: str) -> Ref | None:
    """The layer on new inputs."""
    integers = name.startswith("Embedding")
    inputs = [b.leaf(b.new(shape, "int64", low=0, high=5) if integers else b.new(shape, kind, low=-2.0)) for shape in shapes]
    if "inplace=True" in b.steps[0].text() and not integers and b.chance(0.8):
        inputs = [b.add(".clone", x) or x for x in inputs]
    return b.add(f"{{}}({', '.join('{}' for _ in inputs)})", layer, *inputs)


def result(b: Builder, output: Ref) -> Ref | None:
    """One floating-point tensor of a result."""
    value, ref = b.value(output), output
    while isinstance(value, tuple | list):
        found = b.add(f"{{}}[{b.random.randrange(len(value))}]", ref)
        if found is None:
            return None
        ref, value = found, b.value(found)
    return ref


def program(b: Builder) -> None:
    name = b.pick(list(LAYERS))
    family, rank = LAYERS[name]
    args, kwargs, shapes = family(b, rank)
    kind = b.pick(["float32", "float32", "float64"])
    layer = b.add(f"torch.nn.{name}", *args, **kwargs, keep=1.0)
    if layer is None:
        return
    if kind == "float64":
        b.add(".double", layer)
    if b.chance(0.3):
        b.add(".eval", layer)
    if b.chance(0.15):
        b.add("{}" + b.pick(HOOKS), layer)
    try:
        for _ in range(b.random.randint(1, 3)):
            output = called(b, name, layer, shapes, kind)
            found = None if output is None else result(b, output)
            if found is None or not getattr(b.value(found), "requires_grad", False):
                continue
            if b.chance(0.3):
                seconds(b, layer, found)
            else:
                b.backward()
            if b.chance(0.2):
                b.add(".zero_grad", layer, *b.pick([(), (False,)]))
        b.add("list({}.state_dict())", layer)
    except EndError:
        pass


def seconds(b: Builder, layer: Ref, output: Ref) -> None:
    """Second derivatives, by the squares of first ones."""
    of = b.tensor(lambda t: t.requires_grad and t.is_leaf)
    if of is None:
        return
    first = b.add("torch.autograd.grad({}.square().sum(), [{}], create_graph=True, allow_unused=True)[0]", output, of)
    if first is not None and b.value(first) is not None and b.value(first).requires_grad:
        b.add("{}.square().sum().backward()", first)

