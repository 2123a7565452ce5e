"""Special functions, under the names of `torch.special`. The ops are in `ops/special.py`, `ops/bessel.py` and `ops/polynomials.py`; some
are known at the top by another name.
"""

from __future__ import annotations

from typing import Any

from .ops import bessel as _bessel
from .ops import polynomials as _polynomials
from .ops import special as _special
from .ops._generated import documented as _documented
from .ops._registry import FUNCTIONS as _FUNCTIONS

_SAME = (
    "digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "i0", "log1p", "logit", "logsumexp", "polygamma", "round", "sinc", "xlogy",
)  # fmt: skip
_RENAMED = {
    "expit": "sigmoid", "gammainc": "igamma", "gammaincc": "igammac", "gammaln": "lgamma", "modified_bessel_i0": "i0",
    "multigammaln": "mvlgamma", "psi": "digamma",
}  # fmt: skip

_ONLY_HERE = ("entr", "erfcx", "i0e", "i1", "i1e", "log_ndtr", "ndtr", "ndtri", "xlog1py", "zeta")

_BESSEL = (
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0",
)  # fmt: skip
_POLYNOMIALS = (
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "hermite_polynomial_h",
    "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w",
)  # fmt: skip

for _module, _names in ((_special, _ONLY_HERE), (_bessel, _BESSEL), (_polynomials, _POLYNOMIALS)):
    globals().update({name: getattr(_module, name) for name in _names})
globals().update({name: _FUNCTIONS[name] for name in _SAME} | {name: _FUNCTIONS[ours] for name, ours in _RENAMED.items()})
modified_bessel_i1 = _special.i1


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Exponentials along a dimension, scaled to the sum 1."""
    return _FUNCTIONS["softmax"](input, dim, dtype=dtype)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of `softmax`, computed without its rounding."""
    return _FUNCTIONS["log_softmax"](input, dim, dtype=dtype)


def __dir__() -> list[str]:
    return sorted(name for name in globals() if not name.startswith("_") and name not in ("annotations", "Any"))

_documented(globals(), "special.")
