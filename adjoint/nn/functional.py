"""`torch.nn.functional`: what layers compute, as functions."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature as _signature
from math import isfinite as _isfinite
from typing import Any

import numpy as np

from .._layer import Layer as _Layer
from .._layer import levels as _levels
from .._random import default_generator as _default_generator
from .._random._filling import fill_by_kernel as _fill_by_kernel
from .._random._generator import draws as _draws
from .._site import warn as _warn
from .._tensor import Tensor
from .._tensor import wrap as _wrap
from ..ops import activation as _activation
from ..ops import cross_entropy as _cross_entropy
from ..ops import ctc as _ctc
from ..ops import distance as _distance
from ..ops import loss as _loss
from ..ops import margin_loss as _margin_loss
from ..ops import matmul as _matmul
from ..ops import pixels as _pixels
from ..ops import softmax as _softmax
from ..ops import transcendental as _transcendental
from ..ops._generated import documented as _documented
from ..ops._operands import inplace_of as _inplace_of
from ..ops._primitives import loops as _loops
from ..ops._rules import holds as _holds
from ..ops.einsum import einsum as _einsum
from . import (
    _adaptive_pooling,
    _attention,
    _conv,
    _dropout,
    _embedding,
    _fractional_pooling,
    _interpolate,
    _multihead,
    _normalize,
    _padding,
    _pooling,
    _vision,
)
from . import linear_cross_entropy as _linear_cross_entropy

_Function = Callable[..., Tensor]

# ---- what is defined elsewhere ------------------------------------------------------------------------------------------------------

linear: _Function = _matmul.linear
cosine_similarity: _Function = _distance.cosine_similarity
normalize: _Function = _distance.normalize
pairwise_distance: _Function = _distance.pairwise_distance
pdist: _Function = _distance.pdist
multi_head_attention_forward = _multihead.multi_head_attention_forward
scaled_dot_product_attention = _attention.scaled_dot_product_attention
embedding = _embedding.embedding
embedding_bag = _embedding.embedding_bag
pad = _padding.pad

conv1d = _conv.conv1d
conv2d = _conv.conv2d
conv3d = _conv.conv3d
conv_tbc = _conv.conv_tbc
conv_transpose1d = _conv.conv_transpose1d
conv_transpose2d = _conv.conv_transpose2d
conv_transpose3d = _conv.conv_transpose3d

adaptive_avg_pool1d = _adaptive_pooling.adaptive_avg_pool1d
adaptive_avg_pool2d = _adaptive_pooling.adaptive_avg_pool2d
adaptive_avg_pool3d = _adaptive_pooling.adaptive_avg_pool3d
adaptive_max_pool1d = _adaptive_pooling.adaptive_max_pool1d
adaptive_max_pool2d = _adaptive_pooling.adaptive_max_pool2d
adaptive_max_pool3d = _adaptive_pooling.adaptive_max_pool3d
avg_pool1d = _pooling.avg_pool1d
avg_pool2d = _pooling.avg_pool2d
avg_pool3d = _pooling.avg_pool3d
fractional_max_pool2d = _fractional_pooling.fractional_max_pool2d
fractional_max_pool3d = _fractional_pooling.fractional_max_pool3d
lp_pool1d = _pooling.lp_pool1d
lp_pool2d = _pooling.lp_pool2d
lp_pool3d = _pooling.lp_pool3d
max_pool1d = _pooling.max_pool1d
max_pool1d_with_indices = _pooling.max_pool1d_with_indices
max_pool2d = _pooling.max_pool2d
max_pool2d_with_indices = _pooling.max_pool2d_with_indices
max_pool3d = _pooling.max_pool3d
max_pool3d_with_indices = _pooling.max_pool3d_with_indices
max_unpool1d = _pooling.max_unpool1d
max_unpool2d = _pooling.max_unpool2d
max_unpool3d = _pooling.max_unpool3d



def _with_indices(pool: Callable[..., Any]) -> Callable[..., Any]:
    """The form of a pooling function that always returns the places of the maxima too."""

    def pooled(*args: Any, return_indices: bool = False, **kwargs: Any) -> Any:
        return pool(*args, return_indices=True, **kwargs)

    pooled.__name__ = pooled.__qualname__ = f"{pool.__name__}_with_indices"
    pooled.__doc__ = f"`{pool.__name__}` with `return_indices=True`."
    pooled.__wrapped__ = pool  # type: ignore[attr-defined]  # whose signature it has
    return pooled


adaptive_max_pool1d_with_indices = _with_indices(adaptive_max_pool1d)
adaptive_max_pool2d_with_indices = _with_indices(adaptive_max_pool2d)
adaptive_max_pool3d_with_indices = _with_indices(adaptive_max_pool3d)
fractional_max_pool2d_with_indices = _with_indices(fractional_max_pool2d)
fractional_max_pool3d_with_indices = _with_indices(fractional_max_pool3d)

affine_grid = _vision.affine_grid
fold = _vision.fold
grid_sample = _vision.grid_sample
interpolate = _interpolate.interpolate
unfold = _vision.unfold
upsample = _interpolate.upsample
upsample_bilinear = _interpolate.upsample_bilinear
upsample_nearest = _interpolate.upsample_nearest

channel_shuffle: _Function = _pixels.channel_shuffle
native_channel_shuffle: _Function = _pixels.channel_shuffle
pixel_shuffle: _Function = _pixels.pixel_shuffle
pixel_unshuffle: _Function = _pixels.pixel_unshuffle

alpha_dropout = _dropout.alpha_dropout
dropout = _dropout.dropout
dropout1d = _dropout.dropout1d
dropout2d = _dropout.dropout2d
dropout3d = _dropout.dropout3d
feature_alpha_dropout = _dropout.feature_alpha_dropout

batch_norm = _normalize.batch_norm
group_norm = _normalize.group_norm
instance_norm = _normalize.instance_norm
layer_norm = _normalize.layer_norm
local_response_norm = _normalize.local_response_norm
rms_norm = _normalize.rms_norm

glu: _Function = _activation.glu
hardshrink: _Function = _activation.hardshrink
logsigmoid: _Function = _activation.logsigmoid
prelu: _Function = _activation.prelu
sigmoid: _Function = _transcendental.sigmoid
softplus: _Function = _activation.softplus
softshrink: _Function = _activation.softshrink
softsign: _Function = _activation.softsign
tanh: _Function = _transcendental.tanh
tanhshrink: _Function = _activation.tanhshrink

# ---- losses -------------------------------------------------------------------------------------------------------------------------

binary_cross_entropy: _Function = _loss.binary_cross_entropy
binary_cross_entropy_with_logits: _Function = _loss.binary_cross_entropy_with_logits
cosine_embedding_loss: _Function = _margin_loss.cosine_embedding_loss
cross_entropy: _Function = _cross_entropy.cross_entropy
ctc_loss: _Function = _ctc.ctc_loss
gaussian_nll_loss: _Function = _loss.gaussian_nll_loss
hinge_embedding_loss: _Function = _margin_loss.hinge_embedding_loss
huber_loss: _Function = _loss.huber_loss
kl_div: _Function = _loss.kl_div
l1_loss: _Function = _loss.l1_loss
linear_cross_entropy = _linear_cross_entropy.linear_cross_entropy
margin_ranking_loss: _Function = _margin_loss.margin_ranking_loss
mse_loss: _Function = _loss.mse_loss
multi_margin_loss: _Function = _margin_loss.multi_margin_loss
multilabel_margin_loss: _Function = _margin_loss.multilabel_margin_loss
multilabel_soft_margin_loss: _Function = _margin_loss.multilabel_soft_margin_loss
nll_loss: _Function = _cross_entropy.nll_loss
poisson_nll_loss: _Function = _loss.poisson_nll_loss
smooth_l1_loss: _Function = _loss.smooth_l1_loss
soft_margin_loss: _Function = _margin_loss.soft_margin_loss
triplet_margin_loss: _Function = _margin_loss.triplet_margin_loss
triplet_margin_with_distance_loss: _Function = _margin_loss.triplet_margin_with_distance_loss

# ---- activations that can work in place ---------------------------------------------------------------------------------------------


def _apply(fn: _Function, inplace: bool, input: Tensor, *args: Any) -> Tensor:
    return _inplace_of(fn)(input, *args) if inplace else fn(input, *args)


_relu_in_place = _inplace_of(_activation.relu)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """`max(input, 0)`."""
    return _relu_in_place(input) if inplace else _activation.relu(input)  # type: ignore[no-any-return]


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`min(max(input, 0), 6)`."""
    return _apply(_activation.hardtanh, inplace, input, 0.0, 6.0)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """The input, cut off at two bounds."""
    return _apply(_activation.hardtanh, inplace, input, min_val, max_val)


def _refuse_backward(name: str, result: Tensor) -> Tensor:
    """What was written over: with a negative slope the sign of the result does not tell that of the input, which the derivative needs."""

    def refuse(gradients: Any) -> None:
        raise RuntimeError(
            f"In-place {name} backward calculation is triggered with a negative slope which is not supported. This is caused by calling "
            "in-place forward function with a negative slope, please call out-of-place version instead."
        )

    if result.grad_fn is not None:
        result.grad_fn.register_prehook(refuse)
    return result


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """The input where it is positive, `negative_slope` times it elsewhere."""
    result = _apply(_activation.leaky_relu, inplace, input, negative_slope)
    return _refuse_backward("leakyReLu", result) if inplace and negative_slope < 0 else result


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The input where it is positive, `alpha * (exp(input) - 1)` elsewhere."""
    result = _apply(_activation.elu, inplace, input, alpha)
    return _refuse_backward("elu", result) if inplace and alpha < 0 else result


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the constants that keep mean and variance of a deep network's activations."""
    return _activation.selu_(input) if inplace else _activation.selu(input)  # type: ignore[no-any-return]


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`elu` whose slope is continuous for every `alpha`."""
    result = _apply(_activation.celu, inplace, input, alpha)
    return _refuse_backward("elu", result) if inplace and alpha < 0 else result


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`input * sigmoid(input)`."""
    return _apply(_activation.silu, inplace, input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """`input * tanh(softplus(input))`."""
    return _apply(_activation.mish, inplace, input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """A sigmoid made of straight lines."""
    return _apply(_activation.hardsigmoid, inplace, input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """`input * hardsigmoid(input)`."""
    return _apply(_activation.hardswish, inplace, input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """The input where it is above a threshold, `value` elsewhere."""
    return _apply(_activation.threshold, inplace, input, threshold, value)


def gelu(input: Tensor, approximate: str = "none", *, out: Tensor | None = None) -> Tensor:
    """The input times the share of a normal distribution that lies below it."""
    return _activation.gelu(input, approximate, out=out)  # type: ignore[no-any-return]


def _slopes(x: Any, lower: float, upper: float, generator: Any = None) -> Any:
    """A random slope for each element that is not positive, and one for the others."""
    facts = x, float(lower), float(upper - lower), float(upper)
    if upper - lower < 1e30 and x.__class__ is np.ndarray:
        if (made := _draws.slopes.new((x.shape,), x.dtype, (generator or _default_generator)._words, *facts)) is not None:
            return made
    slopes = np.empty_like(x)
    if upper - lower < 1e30 and _fill_by_kernel(slopes, "slopes", generator, *facts):
        return slopes
    below = x <= 0
    slopes[...] = 1
    slopes[below] = _wrap(np.empty(int(below.sum()))).uniform_(lower, upper, generator=generator)._data
    return slopes


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """`leaky_relu` with a random slope for each element in training, and the mean of the bounds otherwise."""
    return _rrelu(input, lower, upper, training, inplace, None)


def _rrelu(input: Tensor, lower: float, upper: float, training: bool, inplace: bool, generator: Any) -> Tensor:
    for name, bound in (("lower", lower), ("upper", upper)):
        if not _isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    if not input.is_floating_point():
        raise NotImplementedError(f"\"rrelu_with_noise_out_cpu\" not implemented for '{input.dtype.scalar_name}'\n  fix: x.float()")
    if isinstance(input._data, _Layer):
        drawn = input.detach().clone().uniform_(lower, upper, generator=generator)
        return input * np.where(input.detach() > 0, 1.0, drawn)
    slopes = _wrap(_slopes(input._data, lower, upper, generator))
    return input.mul_(slopes) if inplace else input * slopes


def _in_place(fn: _Function) -> _Function:
    def changing(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return fn(input, *args, **kwargs, inplace=True)

    changing.__name__ = changing.__qualname__ = f"{fn.__name__}_"
    changing.__doc__ = f"In-place form of `{fn.__name__}`."
    given = _signature(fn)
    changing.__signature__ = given.replace(  # type: ignore[attr-defined]
        parameters=[parameter for name, parameter in given.parameters.items() if name != "inplace"]
    )
    return changing


celu_ = _in_place(celu)
elu_ = _in_place(elu)
hardtanh_ = _in_place(hardtanh)
leaky_relu_ = _in_place(leaky_relu)
relu_ = _in_place(relu)
rrelu_ = _in_place(rrelu)
selu_ = _in_place(selu)
threshold_ = _in_place(threshold)

# ---- numbers that sum to one --------------------------------------------------------------------------------------------------------


def _implicit_dim(name: str, ndim: int) -> int:
    _warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`exp(x) / exp(x).sum(dim)`."""
    return _softmax.softmax(input, _implicit_dim("softmax", input.ndim) if dim is None else dim, dtype)  # type: ignore[no-any-return]


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`log(softmax(x, dim))`."""
    return _softmax.log_softmax(input, _implicit_dim("log_softmax", input.ndim) if dim is None else dim, dtype)  # type: ignore[no-any-return]


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`softmax(-x, dim)`."""
    return _softmax.softmax(-input, _implicit_dim("softmin", input.ndim) if dim is None else dim, dtype)  # type: ignore[no-any-return]


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample from a relaxed categorical distribution; with `hard`, one-hot, but differentiated as if it were not."""
    if eps != 1e-10:
        _warn("`eps` parameter is deprecated and has no effect.")
    noise = -logits.detach().new_empty(logits.shape).exponential_().log()
    soft: Tensor = _softmax.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen: Tensor = soft.detach().new_zeros(soft.shape).scatter_(dim, soft.detach().argmax(dim, keepdim=True), 1.0)
    return chosen - soft.detach() + soft


# ---- others -------------------------------------------------------------------------------------------------------------------------


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input1 @ weight[k] @ input2` for every output `k`, plus `bias`."""
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for dim, sizes in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        if sizes[0] != sizes[1]:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {dim}: got {sizes[0]} and {sizes[1]}")
    for place, (given, size) in enumerate(((input1, weight.shape[1]), (input2, weight.shape[2])), 1):
        if given.shape[-1] != size:
            raise RuntimeError(f"bilinear(): input{place} size does not match weight size: got {given.shape[-1]} but expected {size}")
    result: Tensor = _einsum("...i,kij,...j->...k", input1, weight, input2)
    return result if bias is None else result + bias


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A row of zeros with a one at the place that each class number names.

    >>> import adjoint as ad
    >>> ad.nn.functional.one_hot(ad.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if tensor._data.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.\n  fix: x.long()")
    data = tensor._data
    if data.__class__ is np.ndarray and data.size and (num_classes > 0 or num_classes == -1):
        found = _loops("index").marks(data, num_classes if num_classes > 0 else int(data.max()) + 1)
        if found is not None:
            return _wrap(found)
    if tensor.numel() == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.\n  fix: pass num_classes")
    if tensor.numel() and _holds(tensor.min() < 0):
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        if any(level.hides_dimension for level in _levels()):
            raise RuntimeError("When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument.")
        num_classes = int(tensor.max()) + 1
    elif tensor.numel() and _holds(tensor.max() >= num_classes):
        raise RuntimeError("Class values must be smaller than num_classes.")
    return (tensor.unsqueeze(-1) == tensor.new_tensor(np.arange(num_classes))).long().contiguous()


# What is seldom asked for, or written with these functions, and where it is.
_LATER = {"grad": "", "grouped_mm": "._grouped", "_canonical_mask": "._multihead", "_none_or_dtype": "._multihead"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(_LATER[name], __package__), name) if _LATER[name] else import_module(f".{name}", __package__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")

_documented(globals(), "nn.functional.")
