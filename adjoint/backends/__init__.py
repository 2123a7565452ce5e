"""PyTorch's `torch.backends`: none of them is here. Their settings can be set and read, and change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from . import cpu as cpu
from . import cuda as cuda
from . import cudnn as cudnn
from . import mha as mha
from . import mkldnn as mkldnn
from . import mps as mps
from ._absent import Absent

mkl = Absent()
openmp = Absent()
xnnpack = Absent(enabled=False)
nnpack = Absent()
opt_einsum = Absent(enabled=False, strategy=None)
quantized = Absent(engine="none", supported_engines=["none"])

has_cuda = has_cudnn = has_mkldnn = has_mps = False  # old names of what `is_built` says, at PyTorch's top

fp32_precision = "none"  # as in PyTorch, where nothing was chosen


@contextmanager
def __allow_nonbracketed_mutation() -> Iterator[None]:
    """Settings can be changed here at any time, so in the block too."""
    yield
