"""Attributes of tensors, modules and optimizers that PyTorch has and adjoint does not.

What an object is, is mostly not known before a program runs. So a list says which attributes are PyTorch's; everything else that a program
asks of its objects is its own affair. Whether adjoint has got one of them since is asked of the class itself.
`tests/torch_parity/test_check_parity.py` compares the list with PyTorch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor import Tensor
from ...nn import Module
from ...optim import Optimizer

_TENSOR = """
_addmm_activation _autocast_to_full_precision _autocast_to_reduced_precision _backward_hooks _clear_non_serializable_cached_data
_coalesced_ _conj _conj_physical _dimI _dimV _dtensor__new__ _fix_weakref _grad_fn _has_symbolic_sizes_strides _indices _is_all_true
_is_any_true _is_zerotensor _lazy_clone _make_wrapper_subclass _neg_view _nested_tensor_size _nested_tensor_storage_offsets
_nested_tensor_strides _nnz _philox_normal_ _philox_uniform_ _post_accumulate_grad_hooks _python_dispatch _reduce_ex_internal
_rev_view_func_unsafe _sparse_mask_projection _to_dense _to_sparse _to_sparse_bsc _to_sparse_bsr _to_sparse_csc _to_sparse_csr _use_count
_values _view_func_unsafe ccol_indices chalf coalesce col_indices const_data_ptr crow_indices dequantize eig index indices int_repr ipu
is_coalesced is_ipu is_maia is_mtia is_sparse_csr is_vulkan is_xla lstsq mtia name q_per_channel_axis q_per_channel_scales
q_per_channel_zero_points q_scale q_zero_point qscheme record_stream reinforce resize_as_sparse_ row_indices slice_inverse smm solve
sparse_mask sparse_resize_ sparse_resize_and_clear_ sspaddmm storage_type symeig to_mkldnn to_padded_tensor to_sparse_bsc to_sparse_bsr
to_sparse_csc to_sparse_csr values volatile xpu
"""
_MODULE = """
T_destination _call_impl _compiled_call_impl _get_backward_hooks _get_backward_pre_hooks _maybe_warn_non_full_backward_hook
_replicate_for_data_parallel _slow_forward _wrapped_call_impl ipu mtia xpu
"""
_OPTIMIZER = """
OptimizerPostHook OptimizerPreHook _accelerator_graph_capture_health_check _cuda_graph_capture_health_check
_group_tensors_by_device_and_dtype _init_group _optimizer_step_code _patch_step_function _process_value_according_to_param_policy
_warned_capturable_if_run_uncaptured _zero_grad_profile_name profile_hook_step
"""
LACKING: dict[type, frozenset[str]] = {
    Tensor: frozenset(_TENSOR.split()),
    Module: frozenset(_MODULE.split()),
    Optimizer: frozenset(_OPTIMIZER.split()),
}
# Names that other objects have too: only of what is known to be a tensor can something be said.
_COMMON = frozenset({*dir(list), *dir(dict), *dir(str), *dir(slice), *dir(np.ndarray), "coalesce", "eig", "lstsq", "name", "solve"})


def lacks(cls: Any, name: str) -> bool:
    """Whether PyTorch's class has an attribute of that name, and this class of ours has not."""
    if hasattr(cls, name):
        return False
    return any(isinstance(cls, type) and issubclass(cls, ours) and name in names for ours, names in LACKING.items())


def perhaps_lacks(name: str) -> str | None:
    """What lacks an attribute, if the object is one: for objects of which nothing is known."""
    if name in _COMMON:
        return None
    return next((cls.__name__ for cls in LACKING if lacks(cls, name)), None)
