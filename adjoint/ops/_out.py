"""`out=` for functions that are written with ops. (Ops have theirs from `_inplace.py`.)"""

from __future__ import annotations

from typing import Any

from .._layer import refuse_out
from .._state import recording
from ._inplace import check_cast


def into(out: Any, result: Any) -> Any:
    """The result, in the tensor given for it, if there is one."""
    if out is None:
        return result
    if recording() and (result.requires_grad or out.requires_grad):
        raise RuntimeError(
            "functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."
            "\n  fix: leave out= away, or wrap the call in torch.no_grad()"
        )
    refuse_out("out", (result, out))
    check_cast(result._data.dtype, out._data.dtype)
    return out.resize_(result.shape).copy_(result)
