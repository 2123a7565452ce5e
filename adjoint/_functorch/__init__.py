"""What is used of PyTorch's `torch._functorch`, where `torch.func` is at home."""

import sys

from .._homes import settle
from ..func import _vmap as vmap

settle(__name__, dict.fromkeys(("apis", "eager_transforms", "pyfunctorch"), ("_steps",)))
settle(__name__, {"make_functional": ("functorch._make_functional",)}, within="adjoint")
sys.modules[f"{__name__}.vmap"] = vmap  # the module itself: what a library puts in it, holds
