"""The state of the calling thread, and the clock that orders everything autograd does.

One context variable holds every mode as bits of an integer, so that the fast path of an op reads it once (20 ns) and compares:
`mode == GRAD` records, `mode == 0` computes, anything else takes the general path. Threads start with the default.
"""

from contextvars import ContextVar
from itertools import count

GRAD = 1  # operations are recorded
INFERENCE = 2  # results are inference tensors
FORWARD_AD = 4  # a dual level is open
AUTOCAST_BFLOAT16, AUTOCAST_FLOAT16 = 8, 16  # products are computed in half precision
AUTOCAST = AUTOCAST_BFLOAT16 | AUTOCAST_FLOAT16
ANOMALY = 32  # nodes remember their whole traceback
FUNCTION_MODE = 64  # a `__torch_function__` mode is asked first
DISPATCH_MODE = 128  # a `__torch_dispatch__` mode sees each op
PROFILE = 256  # each op is timed
SAVED_HOOKS = 512  # what nodes save is packed by hooks
OBSERVE = 1024  # each op is told of when it has run
WATCHED = FUNCTION_MODE | DISPATCH_MODE | PROFILE | OBSERVE

_mode: ContextVar[int] = ContextVar("adjoint_mode", default=GRAD)
get_mode = _mode.get
set_mode = _mode.set
reset_mode = _mode.reset

# Note [One clock]
# Nodes and in-place writes draw their numbers from the same counter. Node numbers order the backward pass (a node always has a higher
# number than the nodes it reads from), and "was this tensor written after that node saved it?" is a comparison of two numbers: nothing
# has to be stored per saved tensor.
tick = count(1).__next__


def recording() -> bool:
    """Whether an operation on a tensor that requires grad is recorded now."""
    return get_mode() & (GRAD | INFERENCE) == GRAD


def grad_enabled() -> bool:
    return bool(get_mode() & GRAD)


def swap_bits(mask: int, bits: int) -> int:
    """Set the bits under `mask` and return what they were."""
    mode = get_mode()
    set_mode(mode & ~mask | bits)
    return mode & mask

# The ways to compute attention that are allowed (`backends/cuda.py`, `nn/attention`).
ATTENTION_BACKENDS = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}
