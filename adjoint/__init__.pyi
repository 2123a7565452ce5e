"""adjoint: automatic differentiation with PyTorch's API. Written by tools/gen_stubs.py: do not edit."""

from collections.abc import Sequence
from typing import Any, NamedTuple, overload

from ._streams import Event as Event
from ._C import FloatType as FloatType
from .futures import Future as Future
from ._sampling import Generator as Generator
from .amp.grad_scaler import GradScaler as GradScaler
from ._C import JitType as JitType
from .cuda import OutOfMemoryError as OutOfMemoryError
from .serialization import PyTorchFileReader as PyTorchFileReader
from .jit import ScriptFunction as ScriptFunction
from .jit import ScriptModule as ScriptModule
from ._size import Size as Size
from .storage import Storage as Storage
from ._untyped_storage import StorageBase as StorageBase
from ._streams import Stream as Stream
from ._symbolic import SymBool as SymBool
from ._symbolic import SymFloat as SymFloat
from ._symbolic import SymInt as SymInt
from ._ops import Tag as Tag
from ._tensor import Tensor as Tensor
from ._C import TensorType as TensorType
from .storage import TypedStorage as TypedStorage
from ._untyped_storage import UntypedStorage as UntypedStorage
from . import _C as _C
from . import __config__ as __config__
from ._symbolic import _assert as _assert
from ._symbolic import _assert_async as _assert_async
from ._symbolic import _check_is_size as _check_is_size
from ._symbolic import _check_tensor_all_with as _check_tensor_all_with
from ._symbolic import _check_with as _check_with
from ._native import _chunk_cat as _chunk_cat
from .sparse._make import _convert_indices_from_coo_to_csr as _convert_indices_from_coo_to_csr
from .sparse._make import _convert_indices_from_csr_to_coo as _convert_indices_from_csr_to_coo
from . import _custom_ops as _custom_ops
from .ops.pathwise import _dirichlet_grad as _dirichlet_grad
from . import _dynamo as _dynamo
from . import _functorch as _functorch
from ._native import _fused_sdp_choice as _fused_sdp_choice
from .nn._grouped import _grouped_mm as _grouped_mm
from . import _guards as _guards
from .nn._conversion import _has_compatible_shallow_copy_type as _has_compatible_shallow_copy_type
from . import _higher_order_ops as _higher_order_ops
from . import _inductor as _inductor
from . import _jit_internal as _jit_internal
from ._native import _log_softmax_backward_data as _log_softmax_backward_data
from ._native import _native_batch_norm_legit as _native_batch_norm_legit
from . import _ops as _ops
from . import _prims_common as _prims_common
from .ops.pathwise import _sample_dirichlet as _sample_dirichlet
from ._segments import _segment_reduce as _segment_reduce
from .quasirandom import _sobol_engine_draw as _sobol_engine_draw
from .quasirandom import _sobol_engine_ff_ as _sobol_engine_ff_
from .quasirandom import _sobol_engine_initialize_state_ as _sobol_engine_initialize_state_
from .quasirandom import _sobol_engine_scramble_ as _sobol_engine_scramble_
from ._native import _softmax_backward_data as _softmax_backward_data
from .ops.pathwise import _standard_gamma as _standard_gamma
from .ops.pathwise import _standard_gamma_grad as _standard_gamma_grad
from . import _subclasses as _subclasses
from . import _tensor_str as _tensor_str
from ._native import _unsafe_masked_index as _unsafe_masked_index
from ._native import _unsafe_masked_index_put_accumulate as _unsafe_masked_index_put_accumulate
from . import _utils as _utils
from . import _vmap_internals as _vmap_internals
from . import accelerator as accelerator
from .nn.functional import adaptive_avg_pool1d as adaptive_avg_pool1d
from ._native import adaptive_max_pool1d as adaptive_max_pool1d
from ._native import affine_grid_generator as affine_grid_generator
from ._native import alpha_dropout as alpha_dropout
from ._native import alpha_dropout_ as alpha_dropout_
from . import amp as amp
from . import ao as ao
from ._ranges import arange as arange
from ._settings import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from ._from_data import as_tensor as as_tensor
from ._place import as_torch as as_torch
from ._from_data import asarray as asarray
from .amp.autocast_mode import autocast as autocast
from . import autograd as autograd
from .nn.functional import avg_pool1d as avg_pool1d
from . import backends as backends
from ._spectral import bartlett_window as bartlett_window
from ._native import batch_norm as batch_norm
from ._native import batch_norm_update_stats as batch_norm_update_stats
from ._native import bilinear as bilinear
from ._native import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from ._spectral import blackman_window as blackman_window
from ._blame.asking import blame as blame
from .amp.autocast_mode import clear_autocast_cache as clear_autocast_cache
from .compiler import compile as compile
from . import compiler as compiler
from ._higher_order_ops.cond import cond as cond
from ._native import constant_pad_nd as constant_pad_nd
from .nn.functional import conv1d as conv1d
from .nn.functional import conv2d as conv2d
from .nn.functional import conv3d as conv3d
from .nn.functional import conv_tbc as conv_tbc
from .nn.functional import conv_transpose1d as conv_transpose1d
from .nn.functional import conv_transpose2d as conv_transpose2d
from .nn.functional import conv_transpose3d as conv_transpose3d
from ._native import convolution as convolution
from ._native import cosine_embedding_loss as cosine_embedding_loss
from . import cpu as cpu
from ._native import ctc_loss as ctc_loss
from . import cuda as cuda
from .debugging import debug as debug
from ._device import device as device
from . import distributed as distributed
from . import distributions as distributions
from ._doctor.doctor import doctor as doctor
from ._native import dropout as dropout
from ._native import dropout_ as dropout_
from ._native import embedding as embedding
from ._creation import empty as empty
from ._creation import empty_like as empty_like
from ._creation import empty_permuted as empty_permuted
from ._creation import empty_strided as empty_strided
from .autograd.grad_mode import enable_grad as enable_grad
from ._explain import explain as explain
from . import export as export
from ._creation import eye as eye
from ._quantization import fake_quantize_per_channel_affine as fake_quantize_per_channel_affine
from ._quantization import fake_quantize_per_tensor_affine as fake_quantize_per_tensor_affine
from ._native import feature_alpha_dropout as feature_alpha_dropout
from ._native import feature_alpha_dropout_ as feature_alpha_dropout_
from ._native import feature_dropout as feature_dropout
from ._native import feature_dropout_ as feature_dropout_
from . import fft as fft
from ._dtype import finfo as finfo
from ._native import frobenius_norm as frobenius_norm
from ._interop import from_dlpack as from_dlpack
from ._from_data import from_file as from_file
from ._from_data import from_numpy as from_numpy
from ._from_data import frombuffer as frombuffer
from ._creation import full as full
from ._creation import full_like as full_like
from . import func as func
from . import functional as functional
from . import futures as futures
from . import fx as fx
from .amp.autocast_mode import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from .amp.autocast_mode import get_autocast_dtype as get_autocast_dtype
from .amp.autocast_mode import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from ._device import get_default_device as get_default_device
from ._dtype import get_default_dtype as get_default_dtype
from ._settings import get_deterministic_debug_mode as get_deterministic_debug_mode
from ._streams import get_device_module as get_device_module
from ._settings import get_float32_matmul_precision as get_float32_matmul_precision
from ._settings import get_num_interop_threads as get_num_interop_threads
from ._kernels.pool import get_num_threads as get_num_threads
from ._printing import get_printoptions as get_printoptions
from ._sampling import get_rng_state as get_rng_state
from ._native import grid_sampler as grid_sampler
from ._native import grid_sampler_2d as grid_sampler_2d
from ._native import grid_sampler_3d as grid_sampler_3d
from ._native import group_norm as group_norm
from .nn._recurrent import gru as gru
from .nn._recurrent import gru_cell as gru_cell
from ._spectral import hamming_window as hamming_window
from ._spectral import hann_window as hann_window
from ._native import hinge_embedding_loss as hinge_embedding_loss
from .sparse import hsmm as hsmm
from .sparse._products import hspmm as hspmm
from . import hub as hub
from ._dtype import iinfo as iinfo
from .autograd.grad_mode import inference_mode as inference_mode
from ._sampling import initial_seed as initial_seed
from ._native import instance_norm as instance_norm
from . import io as io
from .autograd.anomaly import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .autograd.anomaly import is_anomaly_enabled as is_anomaly_enabled
from .amp.autocast_mode import is_autocast_cache_enabled as is_autocast_cache_enabled
from .amp.autocast_mode import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from .amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from ._settings import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from .autograd.grad_mode import is_grad_enabled as is_grad_enabled
from .autograd.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from ._settings import is_storage as is_storage
from ._settings import is_warn_always_enabled as is_warn_always_enabled
from . import jit as jit
from ._spectral import kaiser_window as kaiser_window
from ._native import kl_div as kl_div
from ._native import layer_norm as layer_norm
from ._layout import layout as layout
from . import library as library
from . import linalg as linalg
from ._ranges import linspace as linspace
from ._serialization import load as load
from ._lobpcg import lobpcg as lobpcg
from ._ranges import logspace as logspace
from .nn._recurrent import lstm as lstm
from .nn._recurrent import lstm_cell as lstm_cell
from ._sampling import manual_seed as manual_seed
from ._native import margin_ranking_loss as margin_ranking_loss
from . import masked as masked
from .nn.functional import max_pool1d as max_pool1d
from .nn.functional import max_pool1d_with_indices as max_pool1d_with_indices
from .nn.functional import max_pool2d as max_pool2d
from .nn.functional import max_pool3d as max_pool3d
from ._layout import memory_format as memory_format
from . import mps as mps
from . import mtia as mtia
from . import multiprocessing as multiprocessing
from ._native import native_batch_norm as native_batch_norm
from ._native import native_dropout as native_dropout
from ._native import native_group_norm as native_group_norm
from ._native import native_layer_norm as native_layer_norm
from . import nested as nested
from . import nn as nn
from .autograd.grad_mode import no_grad as no_grad
from ._native import norm_except_dim as norm_except_dim
from ._sampling import normal as normal
from ._native import nuclear_norm as nuclear_norm
from ._creation import ones as ones
from ._creation import ones_like as ones_like
from . import onnx as onnx
from . import ops as ops
from . import optim as optim
from . import overrides as overrides
from ._lowrank import pca_lowrank as pca_lowrank
from ._native import poisson_nll_loss as poisson_nll_loss
from ._printing import printoptions as printoptions
from . import profiler as profiler
from . import quantization as quantization
from . import quasirandom as quasirandom
from ._sampling import rand as rand
from ._sampling import rand_like as rand_like
from ._sampling import randint as randint
from ._sampling import randint_like as randint_like
from ._sampling import randn as randn
from ._sampling import randn_like as randn_like
from . import random as random
from ._sampling import randperm as randperm
from ._ranges import range as range
from . import return_types as return_types
from ._native import rms_norm as rms_norm
from .nn._recurrent import rnn_relu as rnn_relu
from .nn._recurrent import rnn_relu_cell as rnn_relu_cell
from .nn._recurrent import rnn_tanh as rnn_tanh
from .nn._recurrent import rnn_tanh_cell as rnn_tanh_cell
from ._native import rrelu as rrelu
from ._native import rrelu_ as rrelu_
from .sparse import saddmm as saddmm
from ._serialization import save as save
from ._creation import scalar_tensor as scalar_tensor
from ._sampling import seed as seed
from ._segments import segment_reduce as segment_reduce
from . import serialization as serialization
from .amp.autocast_mode import set_autocast_cache_enabled as set_autocast_cache_enabled
from .amp.autocast_mode import set_autocast_dtype as set_autocast_dtype
from .amp.autocast_mode import set_autocast_enabled as set_autocast_enabled
from ._device import set_default_device as set_default_device
from ._dtype import set_default_dtype as set_default_dtype
from ._settings import set_default_tensor_type as set_default_tensor_type
from ._settings import set_deterministic_debug_mode as set_deterministic_debug_mode
from ._settings import set_float32_matmul_precision as set_float32_matmul_precision
from ._settings import set_flush_denormal as set_flush_denormal
from ._tracebacks import set_full_tracebacks as set_full_tracebacks
from .autograd.grad_mode import set_grad_enabled as set_grad_enabled
from ._settings import set_num_interop_threads as set_num_interop_threads
from ._kernels.pool import set_num_threads as set_num_threads
from ._printing import set_printoptions as set_printoptions
from ._sampling import set_rng_state as set_rng_state
from ._settings import set_warn_always as set_warn_always
from . import signal as signal
from .sparse._products import smm as smm
from . import sparse as sparse
from .sparse._construct import sparse_bsc_tensor as sparse_bsc_tensor
from .sparse._construct import sparse_bsr_tensor as sparse_bsr_tensor
from .sparse._construct import sparse_compressed_tensor as sparse_compressed_tensor
from .sparse._construct import sparse_coo_tensor as sparse_coo_tensor
from .sparse._construct import sparse_csc_tensor as sparse_csc_tensor
from .sparse._construct import sparse_csr_tensor as sparse_csr_tensor
from . import special as special
from .sparse._products import sspaddmm as sspaddmm
from . import storage as storage
from ._lowrank import svd_lowrank as svd_lowrank
from ._symbolic import sym_float as sym_float
from ._symbolic import sym_int as sym_int
from ._symbolic import sym_ite as sym_ite
from ._symbolic import sym_max as sym_max
from ._symbolic import sym_min as sym_min
from ._symbolic import sym_not as sym_not
from ._symbolic import sym_sqrt as sym_sqrt
from ._symbolic import sym_sum as sym_sum
from ._from_data import tensor as tensor
from . import testing as testing
from ._interop import to_dlpack as to_dlpack
from . import torch_version as torch_version
from ._native import triplet_margin_loss as triplet_margin_loss
from ._settings import typename as typename
from . import types as types
from ._settings import use_deterministic_algorithms as use_deterministic_algorithms
from . import utils as utils
from . import version as version
from . import viz as viz
from .func._vmap import vmap as vmap
from . import xpu as xpu
from ._creation import zeros as zeros
from ._creation import zeros_like as zeros_like
from ._dtype import dtype as _DType
from ._layout import layout as _Layout
from ._layout import memory_format as _MemoryFormat
from ._sampling import Generator as _Generator
from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int

class _P__L__U(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class _Q__R(NamedTuple):
    Q: Tensor
    R: Tensor

class _U__S__V(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class _a__tau(NamedTuple):
    a: Tensor
    tau: Tensor

class _hist__bin_edges(NamedTuple):
    hist: Tensor
    bin_edges: Tensor

class _mantissa__exponent(NamedTuple):
    mantissa: Tensor
    exponent: Tensor

class _min__max(NamedTuple):
    min: Tensor
    max: Tensor

class _sign__logabsdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class _solution__cloned_coefficient(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor

class _values__indices(NamedTuple):
    values: Tensor
    indices: Tensor

BFloat16Storage: type[TypedStorage]
BFloat16Tensor: Any
BoolStorage: type[TypedStorage]
BoolTensor: Any
ByteStorage: type[TypedStorage]
ByteTensor: Any
CharStorage: type[TypedStorage]
CharTensor: Any
ComplexDoubleStorage: type[TypedStorage]
ComplexDoubleTensor: Any
ComplexFloatStorage: type[TypedStorage]
ComplexFloatTensor: Any
DeviceObjType: Any
DoubleStorage: type[TypedStorage]
DoubleTensor: Any
FloatStorage: type[TypedStorage]
FloatTensor: Any
HalfStorage: type[TypedStorage]
HalfTensor: Any
IntStorage: type[TypedStorage]
IntTensor: Any
LongStorage: type[TypedStorage]
LongTensor: Any
ShortStorage: type[TypedStorage]
ShortTensor: Any
__version__: str
_check: Any
_check_index: Any
_check_not_implemented: Any
_check_tensor_all: Any
_check_type: Any
_check_value: Any
def abs(input: Any, *, out: Any = None) -> Tensor:
    """The absolute value; of a complex number its modulus. The gradient at 0 is 0."""
def abs_(input: Any) -> Tensor:
    """In-place form of `abs`."""
def absolute(input: Any, *, out: Any = None) -> Tensor:
    """The absolute value; of a complex number its modulus. The gradient at 0 is 0."""
def absolute_(input: Any) -> Tensor:
    """In-place form of `abs`."""
def acos(input: Any, *, out: Any = None) -> Tensor:
    """The inverse cosine."""
def acos_(input: Any) -> Tensor:
    """In-place form of `acos`."""
def acosh(input: Any, *, out: Any = None) -> Tensor:
    """The inverse hyperbolic cosine."""
def acosh_(input: Any) -> Tensor:
    """In-place form of `acosh`."""
def add(input: Any, other: Any, alpha: Any = 1, *, out: Any = None) -> Tensor:
    """`input + alpha * other`."""
def add_(input: Any, other: Any) -> Tensor:
    """In-place form of `add`."""
def addbmm(input: Any, batch1: Any, batch2: Any, beta: _float = 1, alpha: _float = 1, *, out: Any = None) -> Tensor:
    """`beta * input + alpha * (the sum of the products of each pair of matrices)`."""
def addbmm_(input: Any, batch1: Any, batch2: Any, beta: _float = 1, alpha: _float = 1) -> Tensor:
    """In-place form of `addbmm`."""
def addcdiv(input: Any, tensor1: Any, tensor2: Any, value: _float = 1, *, out: Any = None) -> Tensor:
    """`input + value * tensor1 / tensor2`."""
def addcdiv_(input: Any, tensor1: Any, tensor2: Any, value: _float = 1) -> Tensor:
    """In-place form of `addcdiv`."""
def addcmul(input: Any, tensor1: Any, tensor2: Any, value: _float = 1, *, out: Any = None) -> Tensor:
    """`input + value * tensor1 * tensor2`; of integers, `value` is the integer part of what is given."""
def addcmul_(input: Any, tensor1: Any, tensor2: Any, value: _float = 1) -> Tensor:
    """In-place form of `addcmul`."""
def addmm(input: Any, mat1: Any, mat2: Any, beta: _float = 1, alpha: _float = 1, *, out: Any = None) -> Tensor:
    """`beta * input + alpha * mat1 @ mat2`."""
def addmm_(input: Any, mat1: Any, mat2: Any, beta: _float = 1, alpha: _float = 1) -> Tensor:
    """In-place form of `addmm`."""
def addmv(input: Any, mat: Any, vec: Any, beta: _float = 1, alpha: _float = 1, *, out: Any = None) -> Tensor:
    """`beta * input + alpha * mat @ vec`."""
def addmv_(input: Any, mat: Any, vec: Any, beta: _float = 1, alpha: _float = 1) -> Tensor:
    """In-place form of `addmv`."""
def addr(input: Any, vec1: Any, vec2: Any, beta: _float = 1, alpha: _float = 1, *, out: Any = None) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""
def addr_(input: Any, vec1: Any, vec2: Any, beta: _float = 1, alpha: _float = 1) -> Tensor:
    """In-place form of `addr`."""
def adjoint(input: Any) -> Tensor:
    """The conjugate transpose of a matrix, or of each matrix of a batch."""
def alias_copy(input: Any, *, out: Any = None) -> Tensor:
    """`alias`, as a copy instead of a view."""
def all(input: Any, dim: Any = None, keepdim: _bool = False, *, out: Any = None, axis: Any = ..., keepdims: Any = ...) -> Tensor:
    """Whether all elements are nonzero."""
def allclose(input: Any, other: Any, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
    """Whether all elements agree within `atol + rtol * |other|`."""
def amax(input: Any, dim: Any = ..., keepdim: _bool = False, *, out: Any = None, axis: Any = ..., keepdims: Any = ...) -> Tensor:
    """The largest element along dimensions; equal ones share the gradient evenly."""
def amin(input: Any, dim: Any = ..., keepdim: _bool = False, *, out: Any = None, axis: Any = ..., keepdims: Any = ...) -> Tensor:
    """The smallest element along dimensions; equal ones share the gradient evenly."""
def aminmax(
        input: Any, *, dim: _int | None = None, keepdim: _bool = False, out: Any = None, axis: Any = ..., keepdims: Any = ...
) -> _min__max:
    """The smallest and the largest element, of everything or along a dimension."""
def angle(input: Any, *, out: Any = None) -> Tensor:
    """The angle of a complex number; of a real one 0, or pi where it is negative."""
def any(input: Any, dim: Any = None, keepdim: _bool = False, *, out: Any = None, axis: Any = ..., keepdims: Any = ...) -> Tensor:
    """Whether some element is nonzero."""
def arccos(input: Any, *, out: Any = None) -> Tensor:
    """The inverse cosine."""
def arccos_(input: Any) -> Tensor:
    """In-place form of `acos`."""
def arccosh(input: Any, *, out: Any = None) -> Tensor:
    """The inverse hyperbolic cosine."""
def arccosh_(input: Any) -> Tensor:
    """In-place form of `acosh`."""
def arcsin(input: Any, *, out: Any = None) -> Tensor:
    """The inverse sine."""
def arcsin_(input: Any) -> Tensor:
    """In-place form of `asin`."""
def arcsinh(input: Any, *, out: Any = None) -> Tensor:
    """The inverse hyperbolic sine."""
def arcsinh_(input: Any) -> Tensor:
    """In-place form of `asinh`."""
def arctan(input: Any, *, out: Any = None) -> Tensor:
    """The inverse tangent."""
def arctan2(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The angle of the point `(other, input)`, in its own quadrant."""
def arctan2_(input: Any, other: Any) -> Tensor:
    """In-place form of `atan2`."""
def arctan_(input: Any) -> Tensor:
    """In-place form of `atan`."""
def arctanh(input: Any, *, out: Any = None) -> Tensor:
    """The inverse hyperbolic tangent."""
def arctanh_(input: Any) -> Tensor:
    """In-place form of `atanh`."""
def argmax(input: Any, dim: _int | None = None, keepdim: _bool = False, *, out: Any = None, axis: Any = ..., keepdims: Any = ...) -> Tensor:
    """The position of the largest element (the first of several), of the flattened tensor or along a dimension."""
def argmin(input: Any, dim: _int | None = None, keepdim: _bool = False, *, out: Any = None, axis: Any = ..., keepdims: Any = ...) -> Tensor:
    """The position of the smallest element (the first of several), of the flattened tensor or along a dimension."""
def argsort(input: Any, dim: _int = -1, descending: _bool = False, *, stable: _bool = False, out: Any = None, axis: Any = ...) -> Tensor:
    """The indices that sort along a dimension."""
def argwhere(input: Any) -> Tensor:
    """The indices of all elements that are not zero, one row for each."""
def as_strided(input: Any, size: Any, stride: Any, storage_offset: _int | None = None) -> Tensor:
    """A view of the memory under a tensor with any shape, strides and offset (in elements)."""
def as_strided_copy(input: Any, size: Any, stride: Any, storage_offset: Any = None, *, out: Any = None) -> Tensor:
    """`as_strided`, as a copy instead of a view."""
def as_strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: _int | None = None) -> Tensor:
    """A copy in which `src` stands where a strided view would be."""
def asin(input: Any, *, out: Any = None) -> Tensor:
    """The inverse sine."""
def asin_(input: Any) -> Tensor:
    """In-place form of `asin`."""
def asinh(input: Any, *, out: Any = None) -> Tensor:
    """The inverse hyperbolic sine."""
def asinh_(input: Any) -> Tensor:
    """In-place form of `asinh`."""
def atan(input: Any, *, out: Any = None) -> Tensor:
    """The inverse tangent."""
def atan2(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The angle of the point `(other, input)`, in its own quadrant."""
def atan2_(input: Any, other: Any) -> Tensor:
    """In-place form of `atan2`."""
def atan_(input: Any) -> Tensor:
    """In-place form of `atan`."""
def atanh(input: Any, *, out: Any = None) -> Tensor:
    """The inverse hyperbolic tangent."""
def atanh_(input: Any) -> Tensor:
    """In-place form of `atanh`."""
def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least one dimension."""
def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least two dimensions; a vector becomes a row."""
def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three dimensions."""
def baddbmm(input: Any, batch1: Any, batch2: Any, beta: _float = 1, alpha: _float = 1, *, out: Any = None) -> Tensor:
    """`beta * input + alpha * batch1 @ batch2`, for each pair of matrices."""
def baddbmm_(input: Any, batch1: Any, batch2: Any, beta: _float = 1, alpha: _float = 1) -> Tensor:
    """In-place form of `baddbmm`."""
def bernoulli(input: Any, p: _float | None = None, *, generator: Any = None, out: Any = None) -> Tensor:
    """Ones and zeros; each element of `input` is the probability of a one, unless `p` gives one for all."""
bfloat16: Any
def bincount(input: Any, weights: Any = None, minlength: _int = 0) -> Tensor:
    """How often each non-negative integer occurs, or the sum of its weights."""
def binomial(count: Any, prob: Any, generator: Any = None) -> Tensor:
    """Numbers of successes in `count` trials, each of which succeeds with probability `prob`."""
bit: Any
bits16: Any
bits1x8: Any
bits2x4: Any
bits4x2: Any
bits8: Any
def bitwise_and(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Bitwise and; of truth values logical and."""
def bitwise_and_(input: Any, other: Any) -> Tensor:
    """In-place form of `bitwise_and`."""
def bitwise_left_shift(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """`input * 2**other`, for integers."""
def bitwise_left_shift_(input: Any, other: Any) -> Tensor:
    """In-place form of `bitwise_left_shift`."""
def bitwise_not(input: Any, *, out: Any = None) -> Tensor:
    """Bitwise not; of truth values logical not."""
def bitwise_not_(input: Any) -> Tensor:
    """In-place form of `bitwise_not`."""
def bitwise_or(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Bitwise or; of truth values logical or."""
def bitwise_or_(input: Any, other: Any) -> Tensor:
    """In-place form of `bitwise_or`."""
def bitwise_right_shift(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """`input // 2**other`, for integers."""
def bitwise_right_shift_(input: Any, other: Any) -> Tensor:
    """In-place form of `bitwise_right_shift`."""
def bitwise_xor(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Bitwise exclusive or."""
def bitwise_xor_(input: Any, other: Any) -> Tensor:
    """In-place form of `bitwise_xor`."""
def block_diag(*tensors: Any) -> Tensor:
    """The matrix with the given matrices (or rows, or numbers) along its diagonal, zeros elsewhere."""
def bmm(input: Any, mat2: Any, *, out: Any = None) -> Tensor:
    """The products of two batches of matrices of the same length."""
bool: Any
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape of arithmetic between tensors of these shapes."""
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to one shape."""
def broadcast_to(input: Any, *size: Any, **named: Any) -> Tensor:
    """Expand to a shape."""
def bucketize(input: Any, boundaries: Any, *, out_int32: _bool = False, right: _bool = False, out: Any = None) -> Tensor:
    """The number of the interval between sorted boundaries in which each value lies."""
def can_cast(from_: Any, to: Any) -> _bool:
    """Whether in-place results of dtype `from_` may be stored as `to`: the category may not fall, the width may."""
def cartesian_prod(*tensors: Any) -> Tensor:
    """All ways to take one element from each vector, one row for each."""
def cat(tensors: Any, dim: _int = 0, *, out: Any = None, axis: Any = ...) -> Tensor:
    """Join tensors along a dimension that they have."""
def cdist(x1: Any, x2: Any, p: _float = 2.0, compute_mode: str = 'use_mm_for_euclid_dist_if_necessary') -> Tensor:
    """The distance of each row of `x1` from each row of `x2`."""
cdouble: Any
def ceil(input: Any, *, out: Any = None) -> Tensor:
    """The smallest integer not below."""
def ceil_(input: Any) -> Tensor:
    """In-place form of `ceil`."""
def celu(input: Any, alpha: _float = 1.0, *, out: Any = None) -> Tensor:
    """`max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`."""
def celu_(input: Any, alpha: _float = 1.0) -> Tensor:
    """In-place form of `celu`."""
cfloat: Any
def chain_matmul(*matrices: Any, out: Any = None) -> Tensor:
    """The product of several matrices; `torch.linalg.multi_dot` under its older name."""
chalf: Any
def channel_shuffle(input: Any, groups: _int) -> Tensor:
    """Channels of different groups mixed: the first of each group, then the second of each, and so on."""
channels_last: _MemoryFormat
channels_last_3d: _MemoryFormat
def cholesky(input: Any, upper: _bool = False, *, out: Any = None) -> Tensor:
    """The triangular factor of positive-definite matrices."""
def cholesky_inverse(input: Any, upper: _bool = False, *, out: Any = None) -> Tensor:
    """The inverse of A from its triangular factor."""
def cholesky_solve(input: Any, L: Any, upper: _bool = False, *, out: Any = None) -> Tensor:
    """The solution X of A X = input, from the triangular factor of A."""
def chunk(input: Any, chunks: _int, dim: _int = 0, *, axis: Any = ...) -> tuple[Tensor, ...]:
    """At most `chunks` consecutive parts of equal size; the last may be smaller."""
def clamp(input: Any, min: Any = None, max: Any = None, *, out: Any = None) -> Tensor:
    """Values below `min` become `min`, values above `max` become `max`; numbers or tensors."""
def clamp_(input: Any, min: Any = None, max: Any = None) -> Tensor:
    """In-place form of `clamp`."""
def clamp_max(input: Any, max: Any, *, out: Any = None) -> Tensor:
    """Values above `max` become `max`."""
def clamp_max_(input: Any, max: Any) -> Tensor:
    """In-place form of `clamp_max`."""
def clamp_min(input: Any, min: Any, *, out: Any = None) -> Tensor:
    """Values below `min` become `min`."""
def clamp_min_(input: Any, min: Any) -> Tensor:
    """In-place form of `clamp_min`."""
def clip(input: Any, min: Any = None, max: Any = None, *, out: Any = None) -> Tensor:
    """Values below `min` become `min`, values above `max` become `max`; numbers or tensors."""
def clip_(input: Any, min: Any = None, max: Any = None) -> Tensor:
    """In-place form of `clamp`."""
def clone(input: Any, *, memory_format: Any = None) -> Tensor:
    """A copy, through which gradients flow."""
def column_stack(tensors: Any, *, out: Any = None) -> Tensor:
    """Join side by side, vectors as columns."""
def combinations(input: Any, r: _int = 2, with_replacement: _bool = False) -> Tensor:
    """All ways to take `r` elements of a vector without regard to order, one row for each."""
def complex(real: Any, imag: Any, *, out: Any = None) -> Tensor:
    """Complex numbers from their real and imaginary parts."""
complex128: Any
complex32: Any
complex64: Any
def concat(tensors: Any, dim: _int = 0, *, out: Any = None, axis: Any = ...) -> Tensor:
    """Join tensors along a dimension that they have."""
def concatenate(tensors: Any, dim: _int = 0, *, out: Any = None, axis: Any = ...) -> Tensor:
    """Join tensors along a dimension that they have."""
def conj(input: Any) -> Tensor:
    """The complex conjugate: a view that conjugates what is read of it and written to it; of a real tensor the tensor itself."""
def conj_physical(input: Any, *, out: Any = None) -> Tensor:
    """The same as `conj`, written to new memory."""
def conj_physical_(input: Any) -> Tensor:
    """In-place form of `conj_physical`."""
contiguous_format: _MemoryFormat
def copysign(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The size of `input` with the sign of `other`."""
def copysign_(input: Any, other: Any) -> Tensor:
    """In-place form of `copysign`."""
def corrcoef(input: Any) -> Tensor:
    """The correlations of the variables in the rows."""
def cos(input: Any, *, out: Any = None) -> Tensor:
    """The cosine."""
def cos_(input: Any) -> Tensor:
    """In-place form of `cos`."""
def cosh(input: Any, *, out: Any = None) -> Tensor:
    """The hyperbolic cosine."""
def cosh_(input: Any) -> Tensor:
    """In-place form of `cosh`."""
def cosine_similarity(x1: Any, x2: Any, dim: _int = 1, eps: _float = 1e-08, *, axis: Any = ...) -> Tensor:
    """The cosine of the angle between corresponding vectors along `dim`."""
def count_nonzero(input: Any, dim: Any = None, *, out: Any = None, axis: Any = ...) -> Tensor:
    """The number of nonzero elements."""
def cov(input: Any, *, correction: _int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """The covariances of the variables in the rows; each column is an observation, which may be counted several times or weighted."""
def cross(input: Any, other: Any, dim: _int | None = None, *, out: Any = None, axis: Any = ...) -> Tensor:
    """The vector product along a dimension of size three: the first one, unless another is named."""
def cummax(input: Any, dim: _int, *, out: Any = None, axis: Any = ...) -> _values__indices:
    """The largest element up to each one, along a dimension, and where it stands."""
def cummin(input: Any, dim: _int, *, out: Any = None, axis: Any = ...) -> _values__indices:
    """The smallest element up to each one, along a dimension, and where it stands."""
def cumprod(input: Any, dim: _int, *, dtype: Any = None, out: Any = None, axis: Any = ...) -> Tensor:
    """The product of the elements up to each one, along a dimension."""
def cumprod_(input: Any, dim: _int, *, dtype: Any = None, axis: Any = ...) -> Tensor:
    """In-place form of `cumprod`."""
def cumsum(input: Any, dim: _int, *, dtype: Any = None, out: Any = None, axis: Any = ...) -> Tensor:
    """The sum of the elements up to each one, along a dimension."""
def cumsum_(input: Any, dim: _int, *, dtype: Any = None, axis: Any = ...) -> Tensor:
    """In-place form of `cumsum`."""
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: _int = -1, axis: Any = ...) -> Tensor:
    """The integral up to each point."""
default_generator: _Generator
def deg2rad(input: Any, *, out: Any = None) -> Tensor:
    """Degrees to radians."""
def deg2rad_(input: Any) -> Tensor:
    """In-place form of `deg2rad`."""
def det(input: Any) -> Tensor:
    """The determinant of each square matrix."""
def detach(input: Any) -> Tensor:
    """The same values without their history."""
def detach_(input: Any) -> Tensor:
    """Forget the history of a tensor."""
def detach_copy(input: Any, *, out: Any = None) -> Tensor:
    """`detach`, as a copy instead of a view."""
def diag(input: Any, diagonal: _int = 0, *, out: Any = None) -> Tensor:
    """The matrix with a given diagonal, or the diagonal of a given matrix."""
def diag_embed(input: Any, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """Square matrices of zeros whose diagonals are the vectors along the last dimension."""
def diagflat(input: Any, offset: _int = 0) -> Tensor:
    """The matrix whose diagonal holds all elements."""
def diagonal(input: Any, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """The diagonal of two dimensions, as the last dimension of the result."""
def diagonal_copy(input: Any, offset: Any = 0, dim1: Any = 0, dim2: Any = 1, *, out: Any = None) -> Tensor:
    """`diagonal`, as a copy instead of a view."""
def diagonal_scatter(input: Any, src: Any, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """A copy in which `src` stands on a diagonal."""
def diff(input: Any, n: _int = 1, dim: _int = -1, prepend: Any = None, append: Any = None, *, out: Any = None, axis: Any = ...) -> Tensor:
    """The differences of neighbours along a dimension, taken n times."""
def digamma(input: Any, *, out: Any = None) -> Tensor:
    """The logarithmic derivative of the gamma function."""
def digamma_(input: Any) -> Tensor:
    """In-place form of `digamma`."""
def dist(input: Any, other: Any, p: _float = 2) -> Tensor:
    """The p-norm of the difference."""
def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Tensor:
    """The quotient; with `rounding_mode` "floor" or "trunc" rounded, and integers stay integers."""
def div_(input: Any, other: Any) -> Tensor:
    """In-place form of `div`."""
def divide(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Tensor:
    """The quotient; with `rounding_mode` "floor" or "trunc" rounded, and integers stay integers."""
def dot(input: Any, tensor: Any, *, out: Any = None) -> Tensor:
    """The scalar product of two vectors."""
double: Any
def dsmm(input: Any, mat2: Any, *, out: Any = None) -> Tensor:
    """The product of two matrices."""
def dsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along one dimension: the third."""
def dstack(tensors: Any, *, out: Any = None) -> Tensor:
    """Join one behind the other: along the third dimension."""
dtype: Any
e: _float
def einsum(*args: Any) -> Tensor:
    """The sum of products over the dimensions that share a letter: `einsum("ij,jk->ik", a, b)`."""
def eq(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Where the elements are equal."""
def eq_(input: Any, other: Any) -> Tensor:
    """In-place form of `eq`."""
def equal(input: Any, other: Any) -> _bool:
    """Whether two tensors have the same shape and the same elements."""
def erf(input: Any, *, out: Any = None) -> Tensor:
    """The error function."""
def erf_(input: Any) -> Tensor:
    """In-place form of `erf`."""
def erfc(input: Any, *, out: Any = None) -> Tensor:
    """One minus the error function, without its rounding."""
def erfc_(input: Any) -> Tensor:
    """In-place form of `erfc`."""
def erfinv(input: Any, *, out: Any = None) -> Tensor:
    """The inverse of the error function."""
def erfinv_(input: Any) -> Tensor:
    """In-place form of `erfinv`."""
def exp(input: Any, *, out: Any = None) -> Tensor:
    """The exponential."""
def exp2(input: Any, *, out: Any = None) -> Tensor:
    """Two to the power of each element."""
def exp2_(input: Any) -> Tensor:
    """In-place form of `exp2`."""
def exp_(input: Any) -> Tensor:
    """In-place form of `exp`."""
def expand_copy(input: Any, *size: Any, out: Any = None) -> Tensor:
    """`expand`, as a copy instead of a view."""
def expm1(input: Any, *, out: Any = None) -> Tensor:
    """The exponential minus one, exact near 0."""
def expm1_(input: Any) -> Tensor:
    """In-place form of `expm1`."""
def fill(input: Any, value: Any) -> Tensor:
    """A tensor of the same shape and dtype with one value everywhere."""
def fill_(input: Any, value: Any) -> Tensor:
    """Write one value everywhere."""
def fix(input: Any, *, out: Any = None) -> Tensor:
    """The integer part."""
def fix_(input: Any) -> Tensor:
    """In-place form of `trunc`."""
def flatten(input: Any, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """Join the dimensions from `start_dim` to `end_dim` into one."""
def flip(input: Any, *dims: Any, **named: Any) -> Tensor:
    """The elements in reverse order along dimensions."""
def fliplr(input: Any) -> Tensor:
    """The elements in reverse order from left to right: along the second dimension."""
def flipud(input: Any) -> Tensor:
    """The elements in reverse order from top to bottom: along the first dimension."""
float: Any
float16: Any
float32: Any
float4_e2m1fn_x2: Any
float64: Any
float8_e4m3fn: Any
float8_e4m3fnuz: Any
float8_e5m2: Any
float8_e5m2fnuz: Any
float8_e8m0fnu: Any
def float_power(input: Any, exponent: Any, *, out: Any = None) -> Tensor:
    """The power, computed in double precision."""
def floor(input: Any, *, out: Any = None) -> Tensor:
    """The largest integer not above."""
def floor_(input: Any) -> Tensor:
    """In-place form of `floor`."""
def floor_divide(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The quotient, rounded down."""
def floor_divide_(input: Any, other: Any) -> Tensor:
    """In-place form of `floor_divide`."""
def fmax(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The larger of two elements; a number rather than NaN."""
def fmin(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The smaller of two elements; a number rather than NaN."""
def fmod(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The remainder with the sign of the dividend."""
def fmod_(input: Any, other: Any) -> Tensor:
    """In-place form of `fmod`."""
def frac(input: Any, *, out: Any = None) -> Tensor:
    """What `trunc` leaves."""
def frac_(input: Any) -> Tensor:
    """In-place form of `frac`."""
def frexp(input: Any, *, out: Any = None) -> _mantissa__exponent:
    """Mantissa in [0.5, 1) and exponent, with `input = mantissa * 2**exponent`."""
def gather(input: Any, dim: _int, index: Any, *, sparse_grad: _bool = False, out: Any = None, axis: Any = ...) -> Tensor:
    """The elements that `index` names along a dimension: for two dimensions and dim=0, `out[i, j] = input[index[i, j], j]`."""
def gcd(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The greatest common divisor."""
def gcd_(input: Any, other: Any) -> Tensor:
    """In-place form of `gcd`."""
def ge(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Where `input >= other`."""
def ge_(input: Any, other: Any) -> Tensor:
    """In-place form of `ge`."""
def geqrf(input: Any, *, out: Any = None) -> _a__tau:
    """R, with the vectors of the reflections below its diagonal, and the factors of the reflections."""
def ger(input: Any, vec2: Any, *, out: Any = None) -> Tensor:
    """All products of an element of one vector with an element of another."""
def get_device(input: Any) -> _int:
    """The number of the device; -1 for the CPU."""
def gradient(input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: _int = 1, axis: Any = ...) -> tuple[Tensor, ...]:
    """The derivatives of a sampled function along dimensions. `spacing` is the distance of the samples, or their coordinates."""
def greater(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Where `input > other`."""
def greater_(input: Any, other: Any) -> Tensor:
    """In-place form of `gt`."""
def greater_equal(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Where `input >= other`."""
def greater_equal_(input: Any, other: Any) -> Tensor:
    """In-place form of `ge`."""
def gt(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Where `input > other`."""
def gt_(input: Any, other: Any) -> Tensor:
    """In-place form of `gt`."""
half: Any
def hardshrink(input: Any, lambd: _float = 0.5, *, out: Any = None) -> Tensor:
    """0 between `-lambd` and `lambd`, the element itself elsewhere."""
has_cuda: Any
has_cudnn: Any
has_mkldnn: Any
has_mps: Any
def hash_tensor(
        input: Any, dim: Any = None, *, keepdim: _bool = False, mode: _int = 0, out: Any = None, axis: Any = ..., keepdims: Any = ...
) -> Tensor:
    """The exclusive or of the bits of all elements, or along dimensions: two tensors that differ will rarely agree in it."""
def heaviside(input: Any, values: Any, *, out: Any = None) -> Tensor:
    """0 for negative elements, 1 for positive ones, `values` at 0."""
def heaviside_(input: Any, values: Any) -> Tensor:
    """In-place form of `heaviside`."""
def histc(input: Any, bins: _int = 100, min: _float = 0, max: _float = 0, *, out: Any = None) -> Tensor:
    """How many elements lie in each of `bins` equal intervals between `min` and `max` (by default those of the elements)."""
def histogram(
        input: Any, bins: Any = 100, *, range: Any = None, weight: Any = None, density: _bool = False, out: Any = None
) -> _hist__bin_edges:
    """How many elements (or how much weight) lie in each interval, and the edges of the intervals."""
def histogramdd(input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: _bool = False) -> _hist__bin_edges:
    """How many rows lie in each cell of a grid with as many dimensions as a row has elements, and the edges of the cells."""
def hsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along one dimension: the second."""
def hstack(tensors: Any, *, out: Any = None) -> Tensor:
    """Join side by side: along the second dimension, vectors along their only one."""
def hypot(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The length of the hypotenuse, `sqrt(input**2 + other**2)`."""
def hypot_(input: Any, other: Any) -> Tensor:
    """In-place form of `hypot`."""
def i0(input: Any, *, out: Any = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""
def i0_(input: Any) -> Tensor:
    """In-place form of `i0`."""
def igamma(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The lower incomplete gamma function, regularised."""
def igamma_(input: Any, other: Any) -> Tensor:
    """In-place form of `igamma`."""
def igammac(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The upper incomplete gamma function, regularised."""
def igammac_(input: Any, other: Any) -> Tensor:
    """In-place form of `igammac`."""
def imag(input: Any) -> Tensor:
    """The imaginary part, on the same memory; of a conjugate it is to be negated when it is read."""
def index_add(input: Any, dim: _int, index: Any, source: Any, *, alpha: Any = 1, out: Any = None, axis: Any = ...) -> Tensor:
    """A copy with the slices of `source` added to those that `index` names along a dimension."""
def index_copy(input: Any, dim: _int, index: Any, source: Any, *, out: Any = None, axis: Any = ...) -> Tensor:
    """A copy with the slices of `source` in place of those that `index` names along a dimension."""
def index_fill(input: Any, dim: _int, index: Any, value: Any, *, axis: Any = ...) -> Tensor:
    """A copy with one value in the slices that `index` names along a dimension."""
def index_put(input: Any, indices: Any, values: Any, accumulate: _bool = False) -> Tensor:
    """A copy with `values` at the given indices, added to what is there if `accumulate`."""
def index_put_(input: Any, indices: Any, values: Any, accumulate: _bool = False) -> Tensor:
    """Write (or add) `values` at the given indices."""
def index_reduce(
        input: Any, dim: _int, index: Any, source: Any, reduce: str, *, include_self: _bool = True, out: Any = None, axis: Any = ...
) -> Tensor:
    """A copy in which the slices of `source` are combined with those that `index` names along a dimension."""
def index_select(input: Any, dim: _int, index: Any, *, out: Any = None, axis: Any = ...) -> Tensor:
    """The slices that `index` names along a dimension."""
inf: _float
def inner(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The scalar products of the vectors in the last dimension of each."""
int: Any
int1: Any
int16: Any
int2: Any
int3: Any
int32: Any
int4: Any
int5: Any
int6: Any
int64: Any
int7: Any
int8: Any
def inverse(input: Any, *, out: Any = None) -> Tensor:
    """The inverse of each square matrix."""
def is_complex(input: Any) -> _bool:
    """Whether the tensor's dtype is a complex type."""
def is_conj(input: Any) -> _bool:
    """Whether what is read of it is conjugated: it is a view of the complex conjugate."""
def is_distributed(input: Any) -> _bool:
    """Whether the elements are spread over several processes: never."""
def is_floating_point(input: Any) -> _bool:
    """Whether the tensor's dtype is a floating-point type."""
def is_inference(input: Any) -> _bool:
    """Whether the tensor was made in inference mode."""
def is_neg(input: Any) -> _bool:
    """Whether what is read of it is negated: it is a view of the imaginary part of a conjugate."""
def is_nonzero(input: Any) -> _bool:
    """Whether the one element of the tensor is not zero."""
def is_same_size(input: Any, other: Any) -> _bool:
    """Whether two tensors have the same shape."""
def is_signed(input: Any) -> _bool:
    """Whether the tensor's dtype has negative numbers."""
def is_tensor(obj: Any) -> _bool:
    """Whether `obj` is a tensor."""
def isclose(input: Any, other: Any, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False, *, out: Any = None) -> Tensor:
    """Where the elements differ by at most `atol + rtol * |other|`."""
def isfinite(input: Any, *, out: Any = None) -> Tensor:
    """Where an element is neither infinite nor NaN."""
def isin(elements: Any, test_elements: Any, *, assume_unique: _bool = False, invert: _bool = False, out: Any = None) -> Tensor:
    """Whether each element is among the test elements."""
def isinf(input: Any, *, out: Any = None) -> Tensor:
    """Where an element is infinite."""
def isnan(input: Any, *, out: Any = None) -> Tensor:
    """Where an element is NaN."""
def isneginf(input: Any, *, out: Any = None) -> Tensor:
    """Where an element is negative infinity."""
def isposinf(input: Any, *, out: Any = None) -> Tensor:
    """Where an element is positive infinity."""
def isreal(input: Any, *, out: Any = None) -> Tensor:
    """Where the imaginary part is 0."""
def istft(
        input: Any, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Any = None, center: _bool = True,
        normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False
) -> Tensor:
    """The signal of which `stft` gives these transforms."""
def kron(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The Kronecker product: each element of `input`, replaced by its product with `other`."""
def kthvalue(
        input: Any, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: Any = None, axis: Any = ..., keepdims: Any = ...
) -> _values__indices:
    """The k-th smallest element along a dimension, counted from 1."""
def lcm(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The least common multiple."""
def lcm_(input: Any, other: Any) -> Tensor:
    """In-place form of `lcm`."""
def ldexp(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """`input * 2**other`."""
def ldexp_(input: Any, other: Any) -> Tensor:
    """In-place form of `ldexp`."""
def le(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Where `input <= other`."""
def le_(input: Any, other: Any) -> Tensor:
    """In-place form of `le`."""
def lerp(input: Any, end: Any, weight: Any, *, out: Any = None) -> Tensor:
    """`input + weight * (end - input)`."""
def less(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Where `input < other`."""
def less_(input: Any, other: Any) -> Tensor:
    """In-place form of `lt`."""
def less_equal(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Where `input <= other`."""
def less_equal_(input: Any, other: Any) -> Tensor:
    """In-place form of `le`."""
def lgamma(input: Any, *, out: Any = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""
def lgamma_(input: Any) -> Tensor:
    """In-place form of `lgamma`."""
def log(input: Any, *, out: Any = None) -> Tensor:
    """The natural logarithm."""
def log10(input: Any, *, out: Any = None) -> Tensor:
    """The logarithm to base 10."""
def log10_(input: Any) -> Tensor:
    """In-place form of `log10`."""
def log1p(input: Any, *, out: Any = None) -> Tensor:
    """The logarithm of one plus the element, exact near 0."""
def log1p_(input: Any) -> Tensor:
    """In-place form of `log1p`."""
def log2(input: Any, *, out: Any = None) -> Tensor:
    """The logarithm to base 2."""
def log2_(input: Any) -> Tensor:
    """In-place form of `log2`."""
def log_(input: Any) -> Tensor:
    """In-place form of `log`."""
def log_softmax(input: Any, dim: _int, dtype: Any = None, *, out: Any = None, axis: Any = ...) -> Tensor:
    """`log(softmax(x, dim))`, computed without overflow or cancellation."""
def logaddexp(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """`log(exp(input) + exp(other))`, without overflow."""
def logaddexp2(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """`log2(2**input + 2**other)`, without overflow."""
def logcumsumexp(input: Any, dim: _int, *, out: Any = None, axis: Any = ...) -> Tensor:
    """`log(cumsum(exp(x)))`, computed without overflow."""
def logdet(input: Any) -> Tensor:
    """The logarithm of the determinant; of a negative one, NaN."""
def logical_and(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Where both elements are true."""
def logical_and_(input: Any, other: Any) -> Tensor:
    """In-place form of `logical_and`."""
def logical_not(input: Any, *, out: Any = None) -> Tensor:
    """Where the element is false."""
def logical_not_(input: Any) -> Tensor:
    """In-place form of `logical_not`."""
def logical_or(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Where an element is true."""
def logical_or_(input: Any, other: Any) -> Tensor:
    """In-place form of `logical_or`."""
def logical_xor(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Where just one element is true."""
def logical_xor_(input: Any, other: Any) -> Tensor:
    """In-place form of `logical_xor`."""
def logit(input: Any, eps: _float | None = None, *, out: Any = None) -> Tensor:
    """The logarithm of the odds, `log(x / (1 - x))`; `eps` keeps x away from 0 and 1."""
def logit_(input: Any, eps: _float | None = None) -> Tensor:
    """In-place form of `logit`."""
def logsumexp(input: Any, dim: Any, keepdim: _bool = False, *, out: Any = None, axis: Any = ..., keepdims: Any = ...) -> Tensor:
    """`log(exp(x).sum(dim))`, computed without overflow."""
long: Any
def lt(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Where `input < other`."""
def lt_(input: Any, other: Any) -> Tensor:
    """In-place form of `lt`."""
def lu(input: Any, pivot: _bool = True, get_infos: _bool = False, out: Any = None) -> Any:
    """L and U in one matrix, and the row exchanges. (The older form of `linalg.lu_factor`.)"""
def lu_solve(input: Any, LU_data: Any, LU_pivots: Any, *, out: Any = None) -> Tensor:
    """The solution of A X = input from the factors that `linalg.lu_factor` gives for A."""
def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: _bool = True, unpack_pivots: _bool = True, *, out: Any = None) -> _P__L__U:
    """P, L and U from the factors that `linalg.lu_factor` gives."""
def masked_fill(input: Any, mask: Any, value: Any) -> Tensor:
    """A copy with one value where the mask is true."""
def masked_fill_(input: Any, mask: Any, value: Any) -> Tensor:
    """Write one value where the mask is true."""
def masked_scatter(input: Any, mask: Any, source: Any, *, out: Any = None) -> Tensor:
    """A copy in which the elements of `source`, in order, stand where the mask is true."""
def masked_select(input: Any, mask: Any, *, out: Any = None) -> Tensor:
    """The elements where the mask is true, in one dimension."""
def matmul(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The matrix product: of vectors, matrices and batches of them, broadcasting the batches."""
def matrix_exp(input: Any) -> Tensor:
    """The exponential of each square matrix."""
def matrix_power(input: Any, n: _int, *, out: Any = None) -> Tensor:
    """The product of `n` copies of each square matrix."""
@overload
def max(
        input: Any, dim: None = None, keepdim: _bool = False, *, other: Any = None, axis: Any = None, keepdims: _bool = False,
        out: Any = None
) -> Tensor:
    """The largest element; along a dimension, `(values, indices)`; of two tensors, their elementwise maximum."""
@overload
def max(
        input: Any, dim: _int, keepdim: _bool = False, *, other: Any = None, axis: Any = None, keepdims: _bool = False, out: Any = None
) -> _values__indices:
    """The largest element; along a dimension, `(values, indices)`; of two tensors, their elementwise maximum."""
@overload
def max(input: Any, other: Tensor) -> Tensor:
    """The largest element; along a dimension, `(values, indices)`; of two tensors, their elementwise maximum."""
def maximum(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The larger of two elements; NaN if one is NaN. Equal ones share the gradient."""
def mean(
        input: Any, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, axis: Any = None, keepdims: _bool = False,
        out: Any = None
) -> Tensor:
    """The mean of all elements, or along dimensions."""
@overload
def median(input: Any, dim: None = None, keepdim: _bool = False, *, out: Any = None, axis: Any = ..., keepdims: Any = ...) -> Tensor:
    """The element in the middle (the lower one of two); along a dimension, `(values, indices)`."""
@overload
def median(input: Any, dim: _int, keepdim: _bool = False, *, out: Any = None, axis: Any = ..., keepdims: Any = ...) -> _values__indices:
    """The element in the middle (the lower one of two); along a dimension, `(values, indices)`."""
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Vectors expanded over the grid that they span: each becomes the coordinates of the grid's points along its own dimension."""
@overload
def min(
        input: Any, dim: None = None, keepdim: _bool = False, *, other: Any = None, axis: Any = None, keepdims: _bool = False,
        out: Any = None
) -> Tensor:
    """The smallest element; along a dimension, `(values, indices)`; of two tensors, their elementwise minimum."""
@overload
def min(
        input: Any, dim: _int, keepdim: _bool = False, *, other: Any = None, axis: Any = None, keepdims: _bool = False, out: Any = None
) -> _values__indices:
    """The smallest element; along a dimension, `(values, indices)`; of two tensors, their elementwise minimum."""
@overload
def min(input: Any, other: Tensor) -> Tensor:
    """The smallest element; along a dimension, `(values, indices)`; of two tensors, their elementwise minimum."""
def minimum(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The smaller of two elements; NaN if one is NaN. Equal ones share the gradient."""
def mm(input: Any, mat2: Any, *, out: Any = None) -> Tensor:
    """The product of two matrices."""
def mode(input: Any, dim: _int = -1, keepdim: _bool = False, *, out: Any = None, axis: Any = ..., keepdims: Any = ...) -> _values__indices:
    """The most frequent value along a dimension (the smallest of several) and the last place where it stands."""
def moveaxis(input: Any, source: Any, destination: Any) -> Tensor:
    """Move dimensions to other places; the rest keep their order."""
def movedim(input: Any, source: Any, destination: Any) -> Tensor:
    """Move dimensions to other places; the rest keep their order."""
def msort(input: Any, *, out: Any = None) -> Tensor:
    """The elements in order along the first dimension."""
def mul(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The product."""
def mul_(input: Any, other: Any) -> Tensor:
    """In-place form of `mul`."""
def multinomial(input: Any, num_samples: _int, replacement: _bool = False, *, generator: Any = None, out: Any = None) -> Tensor:
    """Indices drawn from each row of `input`, whose elements are the probabilities, up to a factor."""
def multiply(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The product."""
def multiply_(input: Any, other: Any) -> Tensor:
    """In-place form of `mul`."""
def mv(input: Any, vec: Any, *, out: Any = None) -> Tensor:
    """The product of a matrix and a vector."""
def mvlgamma(input: Any, p: _int, *, out: Any = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`."""
def mvlgamma_(input: Any, p: _int) -> Tensor:
    """In-place form of `mvlgamma`."""
nan: _float
def nan_to_num(
        input: Any, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Any = None
) -> Tensor:
    """NaN becomes 0 and infinities the largest finite numbers, or what is given."""
def nan_to_num_(input: Any, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
    """In-place form of `nan_to_num`."""
def nanmean(
        input: Any, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, out: Any = None, axis: Any = ..., keepdims: Any = ...
) -> Tensor:
    """The mean of the elements that are not NaN."""
@overload
def nanmedian(input: Any, dim: None = None, keepdim: _bool = False, *, out: Any = None, axis: Any = ..., keepdims: Any = ...) -> Tensor:
    """The median of the elements that are not NaN; along a dimension, `(values, indices)`."""
@overload
def nanmedian(input: Any, dim: _int, keepdim: _bool = False, *, out: Any = None, axis: Any = ..., keepdims: Any = ...) -> _values__indices:
    """The median of the elements that are not NaN; along a dimension, `(values, indices)`."""
def nanquantile(
        input: Any, q: Any, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Any = None,
        axis: Any = ..., keepdims: Any = ...
) -> Tensor:
    """The quantiles of the elements that are not NaN."""
def nansum(
        input: Any, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, out: Any = None, axis: Any = ..., keepdims: Any = ...
) -> Tensor:
    """The sum, where NaN counts as zero."""
def narrow(input: Any, dim: _int, start: Any, length: _int, *, axis: Any = ...) -> Tensor:
    """The part of `length` elements of a dimension that begins at `start`."""
def narrow_copy(input: Any, dim: _int, start: _int, length: _int, *, out: Any = None, axis: Any = ...) -> Tensor:
    """A copy of what `narrow` returns."""
def native_channel_shuffle(input: Any, groups: _int) -> Tensor:
    """Channels of different groups mixed: the first of each group, then the second of each, and so on."""
def ne(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Where the elements differ."""
def ne_(input: Any, other: Any) -> Tensor:
    """In-place form of `ne`."""
def neg(input: Any, *, out: Any = None) -> Tensor:
    """The negative."""
def neg_(input: Any) -> Tensor:
    """In-place form of `neg`."""
def negative(input: Any, *, out: Any = None) -> Tensor:
    """The negative."""
def negative_(input: Any) -> Tensor:
    """In-place form of `neg`."""
newaxis: None
def nextafter(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The next number after `input` on the way to `other`."""
def nextafter_(input: Any, other: Any) -> Tensor:
    """In-place form of `nextafter`."""
def nonzero(input: Any, *, as_tuple: _bool = False, out: Any = None) -> Any:
    """The indices of all elements that are not zero: one row for each, or as a tuple of vectors that can serve as an index."""
def nonzero_static(input: Any, *, size: _int, fill_value: _int = -1, out: Any = None) -> Tensor:
    """The first `size` rows of what `nonzero` finds; rows of `fill_value` after the last."""
def norm(
        input: Any, p: Any = 'fro', dim: Any = None, keepdim: _bool = False, dtype: Any = None, out: Any = None, *, axis: Any = ...,
        keepdims: Any = ...
) -> Tensor:
    """The p-norm of all elements, or along dimensions. `p='fro'` is the 2-norm."""
def not_equal(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Where the elements differ."""
def not_equal_(input: Any, other: Any) -> Tensor:
    """In-place form of `ne`."""
def numel(input: Any) -> _int:
    """The number of elements."""
def orgqr(input: Any, input2: Any, *, out: Any = None) -> Tensor:
    """`torch.linalg.householder_product` under its older name."""
def ormqr(input: Any, input2: Any, input3: Any, left: _bool = True, transpose: _bool = False, *, out: Any = None) -> Tensor:
    """The product of `input3` and of the reflections that `geqrf` has found, on the left or the right of it."""
def outer(input: Any, vec2: Any, *, out: Any = None) -> Tensor:
    """All products of an element of one vector with an element of another."""
def pairwise_distance(x1: Any, x2: Any, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False) -> Tensor:
    """The distances between corresponding vectors in the last dimension. `eps` keeps the gradient finite where they coincide."""
def pdist(input: Any, p: _float = 2.0) -> Tensor:
    """The distances between all pairs of rows, each pair once."""
def permute(input: Any, *dims: Any, **named: Any) -> Tensor:
    """Reorder the dimensions."""
def permute_copy(input: Any, *dims: Any, out: Any = None) -> Tensor:
    """`permute`, as a copy instead of a view."""
pi: _float
def pinverse(input: Any, rcond: _float = 1e-15) -> Tensor:
    """The pseudoinverse of each matrix."""
def pixel_shuffle(input: Any, upscale_factor: _int) -> Tensor:
    """Channels made into pixels: (*, C * r * r, H, W) becomes (*, C, H * r, W * r)."""
def pixel_unshuffle(input: Any, downscale_factor: _int) -> Tensor:
    """Pixels made into channels: the inverse of `pixel_shuffle`."""
def poisson(input: Any, generator: Any = None) -> Tensor:
    """Poisson distributed numbers; each element of `input` is a rate."""
def polar(abs: Any, angle: Any, *, out: Any = None) -> Tensor:
    """Complex numbers from their absolute values and angles."""
def polygamma(n: _int, input: Any, *, out: Any = None) -> Tensor:
    """The derivative number `n` of `digamma`."""
def positive(input: Any) -> Tensor:
    """The tensor itself."""
def pow(input: Any, exponent: Any, *, out: Any = None) -> Tensor:
    """The power; the base, the exponent or both may be tensors."""
def pow_(input: Any, exponent: Any) -> Tensor:
    """In-place form of `pow`."""
def prelu(input: Any, weight: Any) -> Tensor:
    """`input` where it is positive, `weight * input` elsewhere, with one weight for all or one for each channel (dimension 1)."""
preserve_format: _MemoryFormat
def prod(
        input: Any, dim: _int | None = None, keepdim: _bool = False, *, dtype: Any = None, out: Any = None, axis: Any = ...,
        keepdims: Any = ...
) -> Tensor:
    """The product of all elements, or along a dimension."""
def promote_types(type1: Any, type2: Any) -> _DType:
    """The dtype of arithmetic between the two: the higher category, then the wider; int32 with float16 is float16."""
def put(input: Any, index: Any, source: Any, accumulate: _bool = False, *, out: Any = None) -> Tensor:
    """A copy with the elements of `source` at the given places, counted as if the tensor had one dimension."""
qint32: Any
qint8: Any
def qr(input: Any, some: _bool = True, *, out: Any = None) -> _Q__R:
    """Q with orthonormal columns and the upper triangular R with Q R = input."""
def quantile(
        input: Any, q: Any, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', out: Any = None,
        axis: Any = ..., keepdims: Any = ...
) -> Tensor:
    """The values below which the fractions `q` of the elements lie; NaN if there is any among them."""
quint2x4: Any
quint4x2: Any
quint8: Any
def rad2deg(input: Any, *, out: Any = None) -> Tensor:
    """Radians to degrees."""
def rad2deg_(input: Any) -> Tensor:
    """In-place form of `rad2deg`."""
def ravel(input: Any) -> Tensor:
    """All elements in one dimension."""
def real(input: Any) -> Tensor:
    """The real part, on the same memory; of a real tensor the tensor itself."""
def reciprocal(input: Any, *, out: Any = None) -> Tensor:
    """One over each element."""
def reciprocal_(input: Any) -> Tensor:
    """In-place form of `reciprocal`."""
def relu(input: Any, *, out: Any = None) -> Tensor:
    """The element where it is positive, else 0. The gradient at 0 is 0."""
def relu_(input: Any) -> Tensor:
    """In-place form of `relu`."""
def remainder(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The remainder with the sign of the divisor, as Python's `%`."""
def remainder_(input: Any, other: Any) -> Tensor:
    """In-place form of `remainder`."""
def renorm(input: Any, p: _float, dim: _int, maxnorm: _float, *, out: Any = None, axis: Any = ...) -> Tensor:
    """The slices along a dimension, shortened to `maxnorm` where their p-norm exceeds it."""
def repeat_interleave(
        input: Any, repeats: Any = None, dim: _int | None = None, *, output_size: _int | None = None, axis: Any = ...
) -> Tensor:
    """Each element (or slice along `dim`) several times in a row; of a vector of counts alone, their indices, so many times each."""
def reshape(input: Any, *shape: Any, **named: Any) -> Tensor:
    """The same elements in another shape: a view where one is possible, a copy otherwise."""
def resize_as_(input: Any, the_template: Any, *, memory_format: Any = None) -> Tensor:
    """Give a tensor the size of another, in place."""
def resolve_conj(input: Any) -> Tensor:
    """The tensor itself, or a copy with its elements in memory if a conjugation is pending."""
def resolve_neg(input: Any) -> Tensor:
    """The tensor itself, or a copy with its elements in memory if a negation is pending."""
def result_type(tensor1: Any, tensor2: Any) -> _DType:
    """The dtype of arithmetic between two tensors or numbers."""
def roll(input: Any, shifts: Any, dims: Any = ...) -> Tensor:
    """Shift the elements along dimensions (or through the whole tensor); what leaves at one end comes in at the other."""
def rot90(input: Any, k: _int = 1, dims: Sequence[_int] = ..., *, out: Any = None) -> Tensor:
    """Turn the plane of two dimensions by 90 degrees, `k` times, from the first towards the second."""
def round(input: Any, *, decimals: _int = 0, out: Any = None) -> Tensor:
    """The nearest integer, or the nearest number with that many decimals; halves go to the even neighbour."""
def round_(input: Any, *, decimals: _int = 0) -> Tensor:
    """In-place form of `round`."""
def row_stack(tensors: Any, *, out: Any = None) -> Tensor:
    """Join one below the other: along the first dimension, vectors as rows."""
def rsqrt(input: Any, *, out: Any = None) -> Tensor:
    """One over the square root."""
def rsqrt_(input: Any) -> Tensor:
    """In-place form of `rsqrt`."""
def rsub(input: Any, other: Any, alpha: _float = 1, *, out: Any = None) -> Tensor:
    """`other - alpha * input`."""
def scatter(
        input: Any, dim: _int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None, out: Any = None,
        axis: Any = ...
) -> Tensor:
    """A copy with elements of `src` (or one value) at the places that `index` names along a dimension."""
def scatter_add(input: Any, dim: _int, index: Any, src: Any, *, out: Any = None, axis: Any = ...) -> Tensor:
    """A copy with the elements of `src` added at the places that `index` names along a dimension."""
def scatter_reduce(
        input: Any, dim: _int, index: Any, src: Any, reduce: str, *, include_self: _bool = True, out: Any = None, axis: Any = ...
) -> Tensor:
    """A copy in which the elements of `src` are combined (sum, prod, mean, amax, amin) at the places that `index` names."""
def searchsorted(
        sorted_sequence: Any, input: Any, *, out_int32: _bool = False, right: _bool = False, side: str | None = None, out: Any = None,
        sorter: Any = None
) -> Tensor:
    """Where each value would have to be inserted to keep a sequence (or each of a batch of sequences) sorted."""
def select(input: Any, dim: _int, index: _int, *, axis: Any = ...) -> Tensor:
    """The part at one index of a dimension, without that dimension."""
def select_copy(input: Any, dim: Any, index: Any, *, out: Any = None) -> Tensor:
    """`select`, as a copy instead of a view."""
def select_scatter(input: Any, src: Any, dim: _int, index: _int, *, axis: Any = ...) -> Tensor:
    """A copy in which `src` stands at one index of a dimension."""
def selu(input: Any) -> Tensor:
    """`elu` with the constants that keep mean and variance of a deep network's activations."""
def selu_(input: Any) -> Tensor:
    """In-place form of `selu`."""
def sgn(input: Any, *, out: Any = None) -> Tensor:
    """The sign; of a complex number the one of modulus 1 in its direction."""
def sgn_(input: Any) -> Tensor:
    """In-place form of `sgn`."""
short: Any
def sigmoid(input: Any, *, out: Any = None) -> Tensor:
    """`1 / (1 + exp(-x))`."""
def sigmoid_(input: Any) -> Tensor:
    """In-place form of `sigmoid`."""
def sign(input: Any, *, out: Any = None) -> Tensor:
    """-1, 0 or 1."""
def sign_(input: Any) -> Tensor:
    """In-place form of `sign`."""
def signbit(input: Any, *, out: Any = None) -> Tensor:
    """Where the sign is negative, -0.0 included."""
def sin(input: Any, *, out: Any = None) -> Tensor:
    """The sine."""
def sin_(input: Any) -> Tensor:
    """In-place form of `sin`."""
def sinc(input: Any, *, out: Any = None) -> Tensor:
    """`sin(pi * x) / (pi * x)`."""
def sinc_(input: Any) -> Tensor:
    """In-place form of `sinc`."""
def sinh(input: Any, *, out: Any = None) -> Tensor:
    """The hyperbolic sine."""
def sinh_(input: Any) -> Tensor:
    """In-place form of `sinh`."""
def slice_copy(input: Any, dim: Any = 0, start: Any = None, end: Any = None, step: Any = 1, *, out: Any = None) -> Tensor:
    """`slice`, as a copy instead of a view."""
def slice_scatter(
        input: Any, src: Any, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, out: Any = None,
        axis: Any = ...
) -> Tensor:
    """A copy in which `src` stands in a slice of a dimension."""
def slogdet(input: Any, *, out: Any = None) -> _sign__logabsdet:
    """The sign of the determinant and the logarithm of its absolute value."""
def softmax(input: Any, dim: _int, dtype: Any = None, *, out: Any = None, axis: Any = ...) -> Tensor:
    """`exp(x) / exp(x).sum(dim)`, computed without overflow."""
def softmin(input: Any, dim: _int, dtype: Any = None, *, axis: Any = ...) -> Tensor:
    """`softmax(-x, dim)`."""
def sort(
        input: Any, dim: _int = -1, descending: _bool = False, stable: _bool = False, *, out: Any = None, axis: Any = ...
) -> _values__indices:
    """The elements in order along a dimension, and the indices where they were. Equal elements keep their order."""
sparse_bsc: _Layout
sparse_bsr: _Layout
sparse_coo: _Layout
sparse_csc: _Layout
sparse_csr: _Layout
def split(input: Any, split_size_or_sections: Any = None, dim: _int = 0, *, split_size: Any = None, axis: Any = ...) -> tuple[Tensor, ...]:
    """Consecutive parts: of one size (the last may be smaller), or of the sizes in a list."""
def split_copy(
        input: Any, split_size_or_sections: Any = None, dim: Any = 0, *, split_size: Any = None, out: Any = None
) -> tuple[Tensor, ...]:
    """`split`, as a copy instead of a view."""
def split_with_sizes(input: Any, split_sizes: Sequence[_int], dim: _int = 0, *, axis: Any = ...) -> tuple[Tensor, ...]:
    """Consecutive parts of the given sizes."""
def split_with_sizes_copy(input: Any, split_sizes: Any, dim: Any = 0, *, out: Any = None) -> tuple[Tensor, ...]:
    """`split_with_sizes`, as a copy instead of a view."""
def spmm(input: Any, mat2: Any, *, out: Any = None) -> Tensor:
    """The product of two matrices."""
def sqrt(input: Any, *, out: Any = None) -> Tensor:
    """The square root."""
def sqrt_(input: Any) -> Tensor:
    """In-place form of `sqrt`."""
def square(input: Any, *, out: Any = None) -> Tensor:
    """`input ** 2`."""
def square_(input: Any) -> Tensor:
    """In-place form of `square`."""
def squeeze(input: Any, dim: Any = None, *, axis: Any = None) -> Tensor:
    """Drop dimensions of size one: all of them, or those named."""
def squeeze_copy(input: Any, dim: Any = None, *, out: Any = None) -> Tensor:
    """`squeeze`, as a copy instead of a view."""
def stack(tensors: Any, dim: _int = 0, *, out: Any = None, axis: Any = ...) -> Tensor:
    """Join tensors of one shape along a new dimension."""
def std(
        input: Any, dim: Any = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None,
        out: Any = None, axis: Any = ..., keepdims: Any = ...
) -> Tensor:
    """The standard deviation of all elements, or along dimensions."""
def std_mean(
        input: Any, dim: Any = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None,
        axis: Any = ..., keepdims: Any = ...
) -> tuple[Tensor, ...]:
    """The standard deviation and the mean."""
def stft(
        input: Any, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Any = None, center: _bool = True,
        pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None,
        align_to_window: _bool | None = None
) -> Tensor:
    """The Fourier transforms of the pieces of a signal under a moving window: frequencies by times, for each signal of a batch."""
strided: _Layout
def sub(input: Any, other: Any, alpha: Any = 1, *, out: Any = None) -> Tensor:
    """`input - alpha * other`."""
def sub_(input: Any, other: Any) -> Tensor:
    """In-place form of `sub`."""
def subtract(input: Any, other: Any, alpha: Any = 1, *, out: Any = None) -> Tensor:
    """`input - alpha * other`."""
def sum(
        input: Any, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, axis: Any = None, keepdims: _bool = False,
        out: Any = None
) -> Tensor:
    """The sum of all elements, or along dimensions. Integers are summed as int64."""
def svd(input: Any, some: _bool = True, compute_uv: _bool = True, *, out: Any = None) -> _U__S__V:
    """U, the singular values, and V (not its transpose, which `linalg.svd` gives)."""
def swapaxes(input: Any, axis0: _int, axis1: _int) -> Tensor:
    """Exchange two dimensions; NumPy's name for `transpose`."""
def swapdims(input: Any, dim0: _int, dim1: _int) -> Tensor:
    """Exchange two dimensions."""
def t(input: Any) -> Tensor:
    """The transpose of a matrix; a tensor of fewer dimensions as it is."""
def t_copy(input: Any, *, out: Any = None) -> Tensor:
    """`t`, as a copy instead of a view."""
def take(input: Any, index: Any, *, out: Any = None) -> Tensor:
    """The elements at the given places, counted as if the tensor had one dimension."""
def take_along_dim(input: Any, indices: Any, dim: _int | None = None, *, out: Any = None, axis: Any = ...) -> Tensor:
    """The elements that `indices` names along a dimension, after both are broadcast against each other."""
def tan(input: Any, *, out: Any = None) -> Tensor:
    """The tangent."""
def tan_(input: Any) -> Tensor:
    """In-place form of `tan`."""
def tanh(input: Any, *, out: Any = None) -> Tensor:
    """The hyperbolic tangent."""
def tanh_(input: Any) -> Tensor:
    """In-place form of `tanh`."""
def tensor_split(
        input: Any, indices_or_sections: Any = None, dim: _int = 0, *, indices: Any = None, sections: Any = None, axis: Any = ...
) -> tuple[Tensor, ...]:
    """Parts cut at the given indices, or a given number of nearly equal ones."""
def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Tensor:
    """The sum of products over the last `dims` dimensions of `a` and the first of `b`, or over a list of dimensions of each."""
def threshold(input: Any, threshold: _float, value: _float, *, out: Any = None) -> Tensor:
    """`value` where the element is not above `threshold`."""
def threshold_(input: Any, threshold: _float, value: _float) -> Tensor:
    """In-place form of `threshold`."""
def tile(input: Any, *dims: Any, **named: Any) -> Tensor:
    """The tensor, so many times along each dimension; missing counts at the front are one."""
def topk(
        input: Any, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, out: Any = None, axis: Any = ...
) -> _values__indices:
    """The `k` largest (or smallest) elements along a dimension, in order, and their indices."""
def trace(input: Any, *, out: Any = None) -> Tensor:
    """The sum of the elements on the diagonal of a matrix."""
def transpose(input: Any, dim0: _int, dim1: _int) -> Tensor:
    """Exchange two dimensions."""
def transpose_copy(input: Any, dim0: Any, dim1: Any, *, out: Any = None) -> Tensor:
    """`transpose`, as a copy instead of a view."""
def trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: _int = -1, axis: Any = ...) -> Tensor:
    """The integral along a dimension by the trapezoidal rule, of points at `x` or at distances of `dx`."""
def trapz(y: Any, x: Any = None, *, dx: Any = None, dim: _int = -1, axis: Any = ...) -> Tensor:
    """The integral along a dimension by the trapezoidal rule, of points at `x` or at distances of `dx`."""
def triangular_solve(
        input: Any, A: Any, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False, *, out: Any = None
) -> _solution__cloned_coefficient:
    """The solution of A X = input for a triangular A."""
def tril(input: Any, diagonal: _int = 0, *, out: Any = None) -> Tensor:
    """The lower triangle of matrices, up to a diagonal; zeros above."""
def tril_indices(row: _int, col: _int, offset: _int = 0, *, dtype: Any = None, layout: Any = None, device: Any = None) -> Tensor:
    """The indices of the lower triangle of a matrix, rows first, in two rows."""
def triu(input: Any, diagonal: _int = 0, *, out: Any = None) -> Tensor:
    """The upper triangle of matrices, from a diagonal on; zeros below."""
def triu_indices(row: _int, col: _int, offset: _int = 0, *, dtype: Any = None, layout: Any = None, device: Any = None) -> Tensor:
    """The indices of the upper triangle of a matrix, rows first, in two rows."""
def true_divide(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Tensor:
    """The quotient; with `rounding_mode` "floor" or "trunc" rounded, and integers stay integers."""
def trunc(input: Any, *, out: Any = None) -> Tensor:
    """The integer part."""
def trunc_(input: Any) -> Tensor:
    """In-place form of `trunc`."""
uint1: Any
uint16: Any
uint2: Any
uint3: Any
uint32: Any
uint4: Any
uint5: Any
uint6: Any
uint64: Any
uint7: Any
uint8: Any
def unbind(input: Any, dim: _int = 0, *, axis: Any = ...) -> tuple[Tensor, ...]:
    """The parts at every index of a dimension, as a tuple."""
def unbind_copy(input: Any, dim: Any = 0, *, out: Any = None) -> tuple[Tensor, ...]:
    """`unbind`, as a copy instead of a view."""
def unflatten(input: Any, dim: _int, sizes: Any, *, axis: Any = ...) -> Tensor:
    """Divide a dimension into several."""
def unfold_copy(input: Any, dimension: Any, size: Any, step: Any, *, out: Any = None) -> Tensor:
    """`unfold`, as a copy instead of a view."""
def unique(
        input: Any, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None, *,
        axis: Any = ...
) -> Any:
    """The distinct elements (or slices along `dim`) in order; where each element went, and how often each occurs, if asked for."""
def unique_consecutive(
        input: Any, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None, *, axis: Any = ...
) -> Any:
    """The elements (or slices along `dim`) without those equal to the one before; the same extras as `unique`."""
def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    """The coordinates, one tensor for each dimension, of elements counted as if the tensor had one dimension."""
def unsafe_chunk(input: Any, chunks: _int, dim: _int = 0, *, axis: Any = ...) -> tuple[Tensor, ...]:
    """`chunk`, as copies instead of views."""
def unsafe_split(
        input: Any, split_size_or_sections: Any = None, dim: _int = 0, *, split_size: Any = None, axis: Any = ...
) -> tuple[Tensor, ...]:
    """`split`, as copies instead of views."""
def unsafe_split_with_sizes(input: Any, split_sizes: Sequence[_int], dim: _int = 0, *, axis: Any = ...) -> tuple[Tensor, ...]:
    """`split_with_sizes`, as copies instead of views."""
def unsqueeze(input: Any, dim: _int, *, axis: Any = ...) -> Tensor:
    """Insert a dimension of size one."""
def unsqueeze_copy(input: Any, dim: Any, *, out: Any = None) -> Tensor:
    """`unsqueeze`, as a copy instead of a view."""
def vander(x: Any, N: _int | None = None, increasing: _bool = False) -> Tensor:
    """The powers of each element of a vector, the highest first unless `increasing`."""
def var(
        input: Any, dim: Any = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None,
        out: Any = None, axis: Any = ..., keepdims: Any = ...
) -> Tensor:
    """The variance of all elements, or along dimensions. The sum of squares is divided by their number less the correction."""
def var_mean(
        input: Any, dim: Any = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None,
        axis: Any = ..., keepdims: Any = ...
) -> tuple[Tensor, ...]:
    """The variance and the mean."""
def vdot(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The scalar product, with the first vector conjugated."""
def view_as_complex(input: Any) -> Tensor:
    """The opposite of `view_as_real`."""
def view_as_complex_copy(input: Any, *, out: Any = None) -> Tensor:
    """`view_as_complex`, as a copy instead of a view."""
def view_as_real(input: Any) -> Tensor:
    """The real and imaginary parts as a last dimension of size 2, on the same memory."""
def view_as_real_copy(input: Any, *, out: Any = None) -> Tensor:
    """`view_as_real`, as a copy instead of a view."""
def view_copy(input: Any, *shape: Any, size: Any = None, dtype: Any = None, out: Any = None) -> Tensor:
    """`view`, as a copy instead of a view."""
def vsplit(input: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along one dimension: the first."""
def vstack(tensors: Any, *, out: Any = None) -> Tensor:
    """Join one below the other: along the first dimension, vectors as rows."""
def where(condition: Any, input: Any = None, other: Any = None, *, out: Any = None) -> Tensor:
    """`input` where the condition is true, `other` elsewhere. Of the condition alone: the indices where it is true, as a tuple."""
def xlogy(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """`input * log(other)`, and 0 where `input` is 0."""
def xlogy_(input: Any, other: Any) -> Tensor:
    """In-place form of `xlogy`."""
def zero_(input: Any) -> Tensor:
    """Write zeros everywhere."""
