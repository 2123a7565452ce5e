"""Functions of functions: derivatives and batches that nest in any order.

>>> import adjoint as ad
>>> from adjoint.func import grad, vmap
>>> vmap(grad(ad.sin))(ad.tensor([0.0, 0.0]))
tensor([1., 1.])
"""

from ..ops._generated import documented as _documented
from ._batch_norm import debug_unwrap, replace_all_batch_norm_modules_
from ._derivatives import derivatives
from ._grad import grad, grad_and_value, vjp
from ._jacobian import hessian, jacfwd, jacrev
from ._jet import jet
from ._jvp import jvp, linearize
from ._modules import functional_call, functionalize, stack_module_state
from ._rearrange import rearrange
from ._second import divergence, hvp, laplacian
from ._vmap import vmap

__all__ = [
    "debug_unwrap",
    "derivatives",
    "divergence",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "jet",
    "jvp",
    "laplacian",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]  # fmt: skip

_documented(globals(), "func.")
