"""Special functions, under the names of `torch.special`. The ops are in `ops/special.py`; some are known at the top by another name."""

from __future__ import annotations

from typing import Any

from .ops import special as _special
from .ops._registry import FUNCTIONS as _FUNCTIONS

_SAME = (
    "digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "i0", "log1p", "logit", "logsumexp", "polygamma", "round", "sinc", "xlogy",
)  # fmt: skip
_RENAMED = {
    "expit": "sigmoid", "gammainc": "igamma", "gammaincc": "igammac", "gammaln": "lgamma", "modified_bessel_i0": "i0",
    "multigammaln": "mvlgamma", "psi": "digamma",
}  # fmt: skip

_ONLY_HERE = ("entr", "erfcx", "i0e", "i1", "i1e", "log_ndtr", "ndtr", "ndtri", "xlog1py", "zeta")

globals().update({name: getattr(_special, name) for name in _ONLY_HERE})
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
