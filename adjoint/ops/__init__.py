"""All operations. Importing this package fills the registry and gives Tensor its methods."""

from typing import Any

from . import activation as activation
from . import added_product as added_product
from . import arithmetic as arithmetic
from . import assign as assign
from . import compare as compare
from . import complex_view as complex_view
from . import contract as contract
from . import conv as conv
from . import convert as convert
from . import count as count
from . import cross_entropy as cross_entropy
from . import ctc as ctc
from . import distance as distance
from . import einsum as einsum
from . import fold as fold
from . import grid as grid
from . import index as index
from . import join as join
from . import late_names as late_names
from . import linalg_names as linalg_names
from . import loss as loss
from . import masked as masked
from . import matmul as matmul
from . import memory as memory
from . import moments as moments
from . import order as order
from . import parts as parts
from . import piecewise as piecewise
from . import pixels as pixels
from . import polar as polar
from . import pool as pool
from . import product as product
from . import rearrange as rearrange
from . import reduce as reduce
from . import resample as resample
from . import resize as resize
from . import scan as scan
from . import scatter as scatter
from . import scatter_reduce as scatter_reduce
from . import shape as shape
from . import softmax as softmax
from . import sort as sort
from . import special as special
from . import strides as strides
from . import transcendental as transcendental
from . import vector_norm as vector_norm


def __getattr__(name: str) -> Any:
    """`torch.ops.aten`, and the operators of programs: any name is a namespace of them (but that of a module here, which is imported)."""
    from importlib.util import find_spec

    if name.startswith("__") or find_spec(f"{__name__}.{name}") is not None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .. import _ops

    return _ops.load_library if name == "load_library" else _ops.namespace(name)
