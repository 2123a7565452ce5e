"""What layers compute, under the names and in the argument orders that PyTorch has for it at the top: `torch.batch_norm`, `torch.dropout`.

The functions of `torch.nn.functional` are the friendlier form of the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import linalg
from ._creation import empty_like, ones_like
from ._dtype import bool_
from ._state import ATTENTION_BACKENDS
from ._tensor import Tensor
from .nn import functional as F
from .nn._attention import flash_serves, require_backend
from .ops import grid, matmul, pixels
from .ops._generated import publish as _publish
from .ops._out import into
from .ops.join import cat
from .ops.parts import EVERYTHING
from .ops.vector_norm import vector_norm

REDUCTIONS = ("none", "mean", "sum")
affine_grid_generator = grid.affine_grid_generator
native_channel_shuffle = pixels.channel_shuffle
spmm = dsmm = matmul.mm

# ---- padding, sampling, convolution -------------------------------------------------------------------------------------------------


def constant_pad_nd(input: Any, pad: Sequence[int], value: float = 0) -> Any:
    """A number before and after the elements of the last dimensions."""
    return F.pad(input, pad, "constant", value)


def grid_sampler(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """The values of images at the points of a grid; the modes are given by their numbers."""
    mode = ("bilinear", "nearest", "bicubic")[interpolation_mode]
    return F.grid_sample(input, grid, mode, ("zeros", "border", "reflection")[padding_mode], align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def convolution(
    input: Any, weight: Any, bias: Any, stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], transposed: bool,
    output_padding: Sequence[int], groups: int,
) -> Any:  # fmt: skip
    """A convolution, or a transposed one, of a batch, in as many dimensions as the weight has after its first two."""
    dims = weight.ndim - 2
    if input.ndim != weight.ndim:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {list(weight.shape)}, but got "
            f"{input.ndim}-dimensional input of size {list(input.shape)} instead"
        )
    given = [tuple(x) * dims if len(x) == 1 else tuple(x) for x in (stride, padding, dilation, output_padding)]
    if transposed:
        return getattr(F, f"conv_transpose{dims}d")(input, weight, bias, given[0], given[1], given[3], groups, given[2])
    return getattr(F, f"conv{dims}d")(input, weight, bias, *given[:3], groups)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Any = None) -> Any:
    """`input1 @ weight[k] @ input2` for each k, plus `bias`."""
    return F.bilinear(input1, input2, weight, bias)


def embedding(weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False) -> Any:
    """The rows of a table at the given indices."""
    padding = None if padding_idx < 0 else padding_idx
    return F.embedding(indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


# ---- normalization ------------------------------------------------------------------------------------------------------------------


def batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float,
    cudnn_enabled: bool = False,
) -> Any:  # fmt: skip
    """The input with mean 0 and variance 1 in every channel, times `weight` plus `bias`."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, use_input_stats: bool, momentum: float, eps: float,
    cudnn_enabled: bool = False,
) -> Any:  # fmt: skip
    """The input with mean 0 and variance 1 in every channel of every sample, times `weight` plus `bias`."""
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def layer_norm(
    input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5, cudnn_enable: bool = True
) -> Any:
    """The input with mean 0 and variance 1 over its last dimensions, times `weight` plus `bias`."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, cudnn_enabled: bool = True
) -> Any:
    """The input with mean 0 and variance 1 in every group of channels, times `weight` plus `bias`."""
    return F.group_norm(input, num_groups, weight, bias, eps)


def rms_norm(input: Any, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None) -> Any:
    """The input divided by the root of its mean square over the last dimensions, times `weight`."""
    return F.rms_norm(input, normalized_shape, weight, eps)


def _statistics(x: Any, dims: tuple[int, ...], eps: float, keepdim: bool) -> tuple[Any, Any]:
    """The mean and the factor that brings the variance to 1."""
    return x.mean(dims, keepdim=keepdim), (x.var(dims, correction=0, keepdim=keepdim) + eps).rsqrt()


def native_batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float, *, out: Any = None
) -> tuple[Any, Any, Any]:
    """`batch_norm`, with the mean and the factor of each channel; empty in evaluation."""
    result = batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
    if training:
        mean, factor = _statistics(input.detach(), (0, *range(2, input.ndim)), eps, False)
    else:
        mean, factor = input.new_empty(0), input.new_empty(0)
    targets = (None, None, None) if out is None else out
    return into(targets[0], result), into(targets[1], mean), into(targets[2], factor)


def batch_norm_update_stats(input: Any, running_mean: Any, running_var: Any, momentum: float) -> tuple[Any, Any]:
    """The mean and the variance of each channel, towards which running statistics, where there are some, are moved."""
    for running in (running_mean, running_var):
        if running is not None and running.dtype is not input.dtype:
            raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    if not input.is_floating_point():
        raise NotImplementedError(f"\"batch_norm_update_stats_cpu\" not implemented for '{input.dtype.scalar_name}'")
    if not input.numel():
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    channels = input.size(1)
    if running_mean is not None and running_var is not None:
        F.batch_norm(input.detach(), running_mean, running_var, None, None, input.numel() > channels, momentum)
    dims = (0, *range(2, input.ndim))
    return input.mean(dims), input.var(dims, correction=0)


def _native_batch_norm_legit(input: Any, weight: Any, bias: Any, *args: Any, out: Any = None) -> tuple[Any, Any, Any]:
    """The same; running statistics may be left away."""
    if len(args) == 3:
        args = (None, None, *args)
    return native_batch_norm(input, weight, bias, *args, out=out)


def native_layer_norm(input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any]:
    """`layer_norm`, with the mean and the factor of each sample."""
    result = F.layer_norm(input, normalized_shape, weight, bias, eps)
    return result, *_statistics(input.detach(), tuple(range(-len(normalized_shape), 0)), eps, True)


def native_group_norm(
    input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Any, Any, Any]:
    """`group_norm`, with the mean and the factor of each group."""
    result = F.group_norm(input, group, weight, bias, eps)
    return result, *_statistics(input.reshape(N, group, -1 if input.numel() else 0), (-1,), eps, False)


# ---- attention ----------------------------------------------------------------------------------------------------------------------


def _fused_sdp_choice(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, *, scale: Any = None,
    enable_gqa: bool = False,
) -> int:  # fmt: skip
    """The number of the way in which PyTorch would compute attention on a CPU: see `nn.attention.SDPBackend`."""
    if ATTENTION_BACKENDS["flash"] and flash_serves(query, key, value, dropout_p):
        return 1
    if not ATTENTION_BACKENDS["math"]:
        require_backend(query, key, value, dropout_p)
    return 0


# ---- softmax ------------------------------------------------------------------------------------------------------------------------


def _softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """The gradient of `softmax` from its result."""
    grad, result = (x.float() if x.element_size() == 2 else x for x in (grad_output, output))
    inner = grad * result
    return (inner - result * inner.sum(dim, keepdim=True)).to(input_dtype)


def _log_softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """The gradient of `log_softmax` from its result."""
    grad, result = (x.float() if x.element_size() == 2 else x for x in (grad_output, output))
    return (grad - result.exp() * grad.sum(dim, keepdim=True)).to(input_dtype)


# ---- parts of several tensors, and masks --------------------------------------------------------------------------------------------


def _chunk_cat(tensors: Sequence[Any], dim: int, num_chunks: int, *, out: Any = None) -> Any:
    """Each tensor cut into chunks along a dimension, the last one filled up with zeros, and the chunks of all tensors side by side."""
    _check_chunks(tensors, dim, num_chunks)
    if dim < 0:
        dim += tensors[0].ndim
    rows = []
    for x in tensors:
        size = -(-x.shape[dim] // num_chunks)
        missing = size * num_chunks - x.shape[dim]
        full = F.pad(x, (0, 0) * (x.ndim - dim - 1) + (0, missing))
        rows.append(full.reshape(*x.shape[:dim], num_chunks, -1))
    return into(out, cat(rows, dim + 1))


def _check_chunks(tensors: Sequence[Any], dim: int, num_chunks: int) -> None:
    problem = ""
    if not tensors:
        problem = "a non-empty input tensor list"
    elif num_chunks < 1:
        problem = "positive num_chunks"
    elif not all(x.numel() for x in tensors):
        problem = "non-empty tensor"
    elif dim < 0 and len({x.ndim for x in tensors}) > 1:
        problem = "non-negative dim when input tensors have different ndims"
    elif any(dim >= x.ndim for x in tensors):
        problem = "dim < ndim for all input tensors"
    elif len({tuple(x.shape[:dim]) for x in tensors}) > 1:
        problem = "same sizes of 0,...,dim-1 dimensions for all tensors"
    if problem:
        raise RuntimeError(f"_chunk_cat expects {problem}")


def _unsafe_masked_index(input: Any, mask: Any, indices: Sequence[Any], fill: Any) -> Any:
    """The elements at the indices, and a number where the mask is false and an index may lie outside."""
    return input[_inside(input, indices)].masked_fill(~mask, fill)


def _unsafe_masked_index_put_accumulate(input: Any, mask: Any, indices: Sequence[Any], values: Any) -> Any:
    """A copy with the values added at the indices, but for those where the mask is false."""
    return input.index_put(_inside(input, indices), values.masked_fill(~mask, 0), accumulate=True)


def _inside(input: Any, indices: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        EVERYTHING if index is None else index.clamp(-size, size - 1) for index, size in zip(indices, input.shape, strict=False)
    )


def adaptive_max_pool1d(input: Any, output_size: Any) -> Any:
    """The largest elements, and where they stand."""
    return F.adaptive_max_pool1d(input, output_size, True)


# ---- dropout ------------------------------------------------------------------------------------------------------------------------


def dropout(input: Any, p: float, train: bool) -> Any:
    """The input with a fraction `p` of its elements set to zero."""
    return F.dropout(input, p, train)


def dropout_(input: Any, p: float, train: bool) -> Any:
    """In-place form of `dropout`."""
    return F.dropout(input, p, train, True)


def alpha_dropout(input: Any, p: float, train: bool) -> Any:
    """Dropout that keeps mean and variance."""
    return F.alpha_dropout(input, p, train)


def alpha_dropout_(input: Any, p: float, train: bool) -> Any:
    """In-place form of `alpha_dropout`."""
    return F.alpha_dropout(input, p, train, True)


def feature_dropout(input: Any, p: float, train: bool) -> Any:
    """Dropout of whole channels."""
    return F.dropout2d(input, p, train) if input.ndim == 4 else F.dropout3d(input, p, train)


def feature_dropout_(input: Any, p: float, train: bool) -> Any:
    """In-place form of `feature_dropout`."""
    return F.dropout2d(input, p, train, True) if input.ndim == 4 else F.dropout3d(input, p, train, True)


def feature_alpha_dropout(input: Any, p: float, train: bool) -> Any:
    """Dropout of whole channels that keeps mean and variance."""
    return F.feature_alpha_dropout(input, p, train)


def feature_alpha_dropout_(input: Any, p: float, train: bool) -> Any:
    """In-place form of `feature_alpha_dropout`."""
    return F.feature_alpha_dropout(input, p, train, True)


def native_dropout(input: Any, p: float, train: bool | None) -> tuple[Any, Any]:
    """`dropout`, with the mask of the elements that stay."""
    if train is False or not input.numel():
        return input.clone(), ones_like(input, dtype=bool_)
    mask = empty_like(input).bernoulli_(1 - p)
    return input * mask * (0 if p == 1 else 1 / (1 - p)), mask.bool()


def rrelu(input: Any, lower: float = 0.125, upper: float = 1 / 3, training: bool = False, generator: Any = None) -> Any:
    """The input where it is positive, and a random fraction of it where it is negative."""
    return F._rrelu(input, lower, upper, training, False, generator)


def rrelu_(input: Any, lower: float = 0.125, upper: float = 1 / 3, training: bool = False, generator: Any = None) -> Any:
    """In-place form of `rrelu`."""
    return F._rrelu(input, lower, upper, training, True, generator)


# ---- losses: the reduction is given by its number -----------------------------------------------------------------------------------
# It is 0, none, unless given: PyTorch's signatures show the mean, but that is not what its functions do.


def binary_cross_entropy_with_logits(input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 0) -> Any:
    """The cross entropy of truth values and their log-odds."""
    return F.binary_cross_entropy_with_logits(input, target, weight, reduction=REDUCTIONS[reduction], pos_weight=pos_weight)


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0) -> Any:
    """How far the angle between two vectors is from what the target wants."""
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=REDUCTIONS[reduction])


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 0, zero_infinity: bool = False
) -> Any:
    """The loss of a sequence of labels whose places in time are not known."""
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, REDUCTIONS[reduction], zero_infinity)


def hinge_embedding_loss(input: Any, target: Any, margin: float = 1.0, reduction: int = 0) -> Any:
    """The distance where the target is 1; what it lacks of the margin where the target is -1."""
    return F.hinge_embedding_loss(input, target, margin, reduction=REDUCTIONS[reduction])


def kl_div(input: Any, target: Any, reduction: int = 0, *, log_target: bool = False) -> Any:
    """The Kullback-Leibler divergence."""
    return F.kl_div(input, target, reduction=REDUCTIONS[reduction], log_target=log_target)


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0) -> Any:
    """How far two scores are from being in the order that the target wants."""
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=REDUCTIONS[reduction])


def poisson_nll_loss(input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int) -> Any:
    """The negative log-likelihood of counts."""
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=REDUCTIONS[reduction])


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6, swap: bool = False,
    reduction: int = 0,
) -> Any:  # fmt: skip
    """How far the negative example is from being farther from the anchor than the positive one."""
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=REDUCTIONS[reduction])


# ---- norms --------------------------------------------------------------------------------------------------------------------------


def frobenius_norm(input: Any, dim: Any, keepdim: bool = False, *, out: Any = None) -> Any:
    """The root of the sum of squares along dimensions."""
    return vector_norm(input, 2, tuple(dim) if isinstance(dim, Sequence) else dim, keepdim, out=out)


def nuclear_norm(input: Any, dim: Any = (-2, -1), keepdim: bool = False, *, out: Any = None) -> Any:
    """The sum of the singular values."""
    return linalg.matrix_norm(input, "nuc", dim, keepdim, out=out)


def norm_except_dim(v: Tensor, pow: float = 2, dim: int = 0) -> Any:
    """The norms of the slices along a dimension; of everything for -1."""
    others = tuple(d for d in range(v.ndim) if d != dim % v.ndim) if dim != -1 else None
    return vector_norm(v, pow, others, others is not None)


_publish(globals(), "", list(globals()))
