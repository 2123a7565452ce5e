"""What autocast changes: products are computed in half precision and losses in single precision, whatever they are given.

The lists are PyTorch's for the CPU, as far as there are ops for them. Everything else goes on with the dtypes that come.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._dtype import bfloat16, float16, float32
from .._state import AUTOCAST_BFLOAT16, get_mode
from .._tensor import Tensor
from ._registry import Op

IN_HALF = frozenset(
    {"addbmm", "addmm", "baddbmm", "bmm", "convolution", "convolution_transposed", "linear", "matmul_batched", "mm", "prelu_kernel"}
)
IN_SINGLE = frozenset(
    {"avg_pool3d", "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "grid_sampler_2d", "grid_sampler_3d",
     "huber_loss", "mse_loss", "nll_loss", "prod_all", "prod_dim", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d",
     "replication_pad1d", "replication_pad2d", "replication_pad3d", "smooth_l1_loss"}
)  # fmt: skip


def autocast(op: Op, operands: Sequence[Any]) -> Sequence[Any]:
    """The operands of an op with the dtypes that autocast wants."""
    if op.name in IN_HALF:
        dtype = bfloat16 if get_mode() & AUTOCAST_BFLOAT16 else float16
    elif op.name in IN_SINGLE:
        dtype = float32
    else:
        return operands
    return [x.to(dtype) if is_eligible(x) else x for x in operands]


def is_eligible(x: Any) -> bool:
    """Half and single precision are converted; double precision was chosen on purpose."""
    return isinstance(x, Tensor) and x.dtype in (float16, bfloat16, float32)
