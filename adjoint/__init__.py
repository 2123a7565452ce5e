"""adjoint: automatic differentiation with PyTorch's API, in pure Python on NumPy."""

from __future__ import annotations

import math as _math
from importlib import import_module as _import_module
from sys import modules as _modules
from typing import Any as _Any

from . import _copying as _copying
from . import _filling as _filling
from . import _numpy_functions as _numpy_functions
from . import autograd as autograd
from . import ops as ops
from ._creation import empty as empty
from ._creation import empty_like as empty_like
from ._creation import empty_strided as empty_strided
from ._creation import eye as eye
from ._creation import full as full
from ._creation import full_like as full_like
from ._creation import ones as ones
from ._creation import ones_like as ones_like
from ._creation import scalar_tensor as scalar_tensor
from ._creation import zeros as zeros
from ._creation import zeros_like as zeros_like
from ._device import device as device
from ._device import get_default_device as get_default_device
from ._device import set_default_device as set_default_device
from ._dtype import PUBLIC as _DTYPES
from ._dtype import can_cast as can_cast
from ._dtype import dtype as dtype
from ._dtype import finfo as finfo
from ._dtype import get_default_dtype as get_default_dtype
from ._dtype import iinfo as iinfo
from ._dtype import promote_types as promote_types
from ._dtype import set_default_dtype as set_default_dtype
from ._from_data import as_tensor as as_tensor
from ._from_data import asarray as asarray
from ._from_data import from_file as from_file
from ._from_data import from_numpy as from_numpy
from ._from_data import frombuffer as frombuffer
from ._from_data import tensor as tensor
from ._interop import from_dlpack as from_dlpack
from ._interop import to_dlpack as to_dlpack
from ._layout import channels_last as channels_last
from ._layout import channels_last_3d as channels_last_3d
from ._layout import contiguous_format as contiguous_format
from ._layout import layout as layout
from ._layout import memory_format as memory_format
from ._layout import preserve_format as preserve_format
from ._layout import sparse_bsc as sparse_bsc
from ._layout import sparse_bsr as sparse_bsr
from ._layout import sparse_coo as sparse_coo
from ._layout import sparse_csc as sparse_csc
from ._layout import sparse_csr as sparse_csr
from ._layout import strided as strided
from ._legacy import TENSOR_TYPES as _TENSOR_TYPES
from ._ranges import arange as arange
from ._ranges import linspace as linspace
from ._ranges import logspace as logspace
from ._ranges import range as range
from ._sampling import Generator as Generator
from ._sampling import default_generator as default_generator
from ._sampling import get_rng_state as get_rng_state
from ._sampling import initial_seed as initial_seed
from ._sampling import manual_seed as manual_seed
from ._sampling import normal as normal
from ._sampling import rand as rand
from ._sampling import rand_like as rand_like
from ._sampling import randint as randint
from ._sampling import randint_like as randint_like
from ._sampling import randn as randn
from ._sampling import randn_like as randn_like
from ._sampling import randperm as randperm
from ._sampling import seed as seed
from ._sampling import set_rng_state as set_rng_state
from ._site import fold_tracebacks as _fold_tracebacks
from ._size import Size as Size
from ._tensor import Tensor as Tensor
from ._version import __version__ as __version__
from .autograd.anomaly import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .autograd.anomaly import is_anomaly_enabled as is_anomaly_enabled
from .autograd.grad_mode import enable_grad as enable_grad
from .autograd.grad_mode import inference_mode as inference_mode
from .autograd.grad_mode import is_grad_enabled as is_grad_enabled
from .autograd.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from .autograd.grad_mode import no_grad as no_grad
from .autograd.grad_mode import set_grad_enabled as set_grad_enabled
from .ops._generated import documented as _documented
from .ops._registry import FUNCTIONS as _FUNCTIONS

globals().update(_DTYPES)
globals().update(_TENSOR_TYPES)
globals().update(_FUNCTIONS)
_documented(globals())
_documented(vars(Tensor.__base__) | vars(Tensor), "Tensor.")
_documented(vars(autograd), "autograd.")
_fold_tracebacks()

pi = _math.pi
e = _math.e
inf = _math.inf
nan = _math.nan
newaxis = None
DeviceObjType = device  # the name that annotations use

# What is imported when first used, so that `import adjoint` stays light: packages, and names out of modules.
_PACKAGES = frozenset(
    {"_C", "__config__", "_custom_ops", "_dynamo", "_functorch", "_guards", "_higher_order_ops", "_inductor", "_jit_internal",
     "_ops", "_prims_common", "_subclasses", "_tensor_str", "_utils", "_vmap_internals", "accelerator", "amp", "ao", "backends",
     "compiler", "cpu", "cuda", "distributed", "distributions", "export", "fft", "func", "functional", "futures", "fx",
     "hub", "io", "jit", "library", "linalg", "masked", "mps", "mtia", "multiprocessing", "nested", "nn", "onnx", "optim",
     "overrides", "profiler", "quantization", "quasirandom", "random", "return_types", "serialization", "signal", "sparse",
     "special", "storage", "testing", "torch_version", "types", "utils", "version", "viz", "xpu"}
)  # fmt: skip
_NAMES = {
    "PyTorchFileReader": "serialization",
    "Future": "futures", "classes": "_classes", "cond": "_higher_order_ops",
    **dict.fromkeys(("has_cuda", "has_cudnn", "has_mkldnn", "has_mps"), "backends"),
    **dict.fromkeys(
        ("are_deterministic_algorithms_enabled", "get_deterministic_debug_mode", "get_float32_matmul_precision", "get_num_interop_threads",
         "is_deterministic_algorithms_warn_only_enabled", "is_storage", "is_warn_always_enabled", "set_default_tensor_type",
         "set_deterministic_debug_mode",
         "set_float32_matmul_precision", "set_flush_denormal", "set_num_interop_threads", "set_warn_always", "typename",
         "use_deterministic_algorithms"),
        "_settings",
    ),
    **dict.fromkeys(
        ("adaptive_avg_pool1d", "avg_pool1d", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d",
         "conv_transpose2d", "conv_transpose3d", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool3d"),
        "nn.functional",
    ),
    **dict.fromkeys(
        ("gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell"), "nn._recurrent"
    ),
    **dict.fromkeys(
        ("alias_copy", "as_strided_copy", "detach_copy", "diagonal_copy", "expand_copy", "permute_copy", "select_copy", "slice_copy",
         "split_copy", "split_with_sizes_copy", "squeeze_copy", "t_copy", "transpose_copy", "unbind_copy", "unfold_copy", "unsqueeze_copy",
         "view_as_complex_copy", "view_as_real_copy", "view_copy"),
        "_copies",
    ),
    **dict.fromkeys(
        ("bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"), "_spectral"
    ),
    **dict.fromkeys(
        ("_chunk_cat", "_fused_sdp_choice", "_log_softmax_backward_data", "_native_batch_norm_legit", "_softmax_backward_data",
         "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate", "adaptive_max_pool1d", "affine_grid_generator", "alpha_dropout",
         "alpha_dropout_", "batch_norm", "batch_norm_update_stats", "bilinear", "binary_cross_entropy_with_logits", "constant_pad_nd",
         "convolution",
         "cosine_embedding_loss", "ctc_loss", "dsmm", "dropout", "dropout_", "embedding", "feature_alpha_dropout", "feature_alpha_dropout_",
         "feature_dropout", "feature_dropout_", "frobenius_norm", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "group_norm",
         "hinge_embedding_loss", "instance_norm", "kl_div", "layer_norm", "margin_ranking_loss", "native_batch_norm",
         "native_channel_shuffle", "native_dropout", "native_group_norm", "native_layer_norm",
         "norm_except_dim", "nuclear_norm", "poisson_nll_loss", "rms_norm", "rrelu", "rrelu_", "spmm",
         "triplet_margin_loss"),
        "_native",
    ),
    **dict.fromkeys(("_segment_reduce", "segment_reduce"), "_segments"),
    **dict.fromkeys(("fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine"), "_quantization"),
    **dict.fromkeys(
        ("bit", "bits16", "bits1x8", "bits2x4", "bits4x2", "bits8", "chalf", "complex32", "float4_e2m1fn_x2", "float8_e4m3fn",
         "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "int1", "int2", "int3", "int4", "int5", "int6", "int7",
         "qint32", "qint8", "quint2x4", "quint4x2", "quint8", "uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7"),
        "_narrow",
    ),
    **dict.fromkeys(
        ("_sobol_engine_draw", "_sobol_engine_ff_", "_sobol_engine_initialize_state_", "_sobol_engine_scramble_"), "quasirandom"
    ),
    **dict.fromkeys(("empty_permuted",), "_creation"),
    "Tag": "_ops",
    **dict.fromkeys(("pca_lowrank", "svd_lowrank"), "_lowrank"),
    **dict.fromkeys(("lobpcg",), "_lobpcg"),
    **dict.fromkeys(("get_num_threads", "set_num_threads"), "_kernels.pool"),
    **dict.fromkeys(("get_printoptions", "printoptions", "set_printoptions"), "_printing"),
    **dict.fromkeys(("load", "save"), "_serialization"),
    **dict.fromkeys(
        ("autocast", "clear_autocast_cache", "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype",
         "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled", "set_autocast_cache_enabled",
         "set_autocast_dtype", "set_autocast_enabled"),
        "amp.autocast_mode",
    ),
    **dict.fromkeys(("_dirichlet_grad", "_sample_dirichlet", "_standard_gamma", "_standard_gamma_grad"), "ops.pathwise"),
    **dict.fromkeys(("GradScaler",), "amp"),
    **dict.fromkeys(("OutOfMemoryError",), "cuda"),
    **dict.fromkeys(("compile",), "compiler"),
    **dict.fromkeys(("_grouped_mm",), "nn._grouped"),
    "_has_compatible_shallow_copy_type": "nn._conversion",
    **dict.fromkeys(
        ("SymBool", "SymFloat", "SymInt", "_assert", "_assert_async", "_check", "_check_index", "_check_is_size", "_check_not_implemented",
         "_check_tensor_all", "_check_tensor_all_with", "_check_type", "_check_value", "_check_with", "sym_float", "sym_int", "sym_ite",
         "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum"),
        "_symbolic",
    ),
    **dict.fromkeys(("FloatType", "JitType", "TensorType"), "_C"),
    **dict.fromkeys(("Event", "Stream", "get_device_module"), "_streams"),
    **dict.fromkeys(("ScriptFunction", "ScriptModule"), "jit"),
    **dict.fromkeys(("blame",), "_blame"),
    **dict.fromkeys(("explain",), "_explain"),
    **dict.fromkeys(("set_full_tracebacks",), "_tracebacks"),
    **dict.fromkeys(("doctor",), "_doctor"),
    **dict.fromkeys(("debug",), "debugging"),
    **dict.fromkeys(("as_torch",), "_place"),
    **dict.fromkeys(
        ("_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo", "hsmm", "hspmm", "saddmm", "smm",
         "sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor", "sparse_coo_tensor", "sparse_csc_tensor",
         "sparse_csr_tensor", "sspaddmm"),
        "sparse",
    ),
    **dict.fromkeys(("vmap",), "func"),
    **dict.fromkeys(
        ("BFloat16Storage", "BoolStorage", "ByteStorage", "CharStorage", "ComplexDoubleStorage", "ComplexFloatStorage", "DoubleStorage",
         "FloatStorage", "HalfStorage", "IntStorage", "LongStorage", "ShortStorage", "StorageBase", "TypedStorage", "UntypedStorage"),
        "storage",
    ),
    "Storage": "storage",
}  # fmt: skip


def __getattr__(name: str) -> _Any:
    home = name if name in _PACKAGES else "_foreach" if name.startswith("_foreach_") else _NAMES.get(name)
    if home is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    module = _import_module(f".{home}", __name__)
    if "adjoint._overriding" in _modules and _modules["adjoint._overriding"]._installed:
        _modules["adjoint._overriding"].install()
    if home == name:
        return module
    value = globals().setdefault(name, getattr(module, name))
    _documented({name: value})
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PACKAGES, *_NAMES})
