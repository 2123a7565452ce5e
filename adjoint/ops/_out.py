"""`out=` for functions that are written with ops. (Ops have theirs from `_inplace.py`.)"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._errors import spelled
from .._layer import refuse_out
from .._state import recording
from .._tensor import Tensor
from ..autograd.regions import ANY, check_apart
from ..autograd.views import check_writable
from ._inplace import check_cast, check_same, resize_out
from ._registry import SAME


def into(out: Any, result: Any, same: str = "", read: Iterable[Any] = ()) -> Any:
    """The result, in the tensor given for it, if there is one. `same`: what is said if that has another dtype, where it may not. `read`:
    tensors whose memory may not be written."""
    if out is None:
        return result
    check_out(out, result, same)
    for x in read:
        check_apart(out._data, x._data, ANY)
    return written(out, result)


def several_into(out: Any, results: Iterable[Any], same: str | tuple[str, ...] = SAME, read: Any = None) -> tuple[Any, ...]:
    """The same for several results: all are checked before anything is written. `read`: the tensor whose memory may not be written."""
    results = tuple(results)
    if out is None:
        return results
    if not isinstance(out, tuple | list):
        raise TypeError(f"out must be a tuple of {len(results)} Tensors, not {type(out).__name__}")
    if len(out) != len(results):
        raise TypeError(f"expected tuple of {len(results)} elements but got {len(out)}")
    for place, (target, result) in enumerate(zip(out, results, strict=True)):
        if not isinstance(target, Tensor):
            raise TypeError(f"expected Tensor as element {place} in argument 'out', but got {type(target).__name__}")
        check_out(target, result, same if isinstance(same, str) else same[place])
        if read is not None:
            check_apart(target._data, read._data, ANY)
    return tuple(written(target, result) for target, result in zip(out, results, strict=True))


def check_out(out: Any, result: Any, same: str) -> None:
    if recording() and (result.requires_grad or out.requires_grad):
        raise RuntimeError(
            spelled(
                "functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."
                "\n  fix: leave out= away, or wrap the call in torch.no_grad()"
            )
        )
    refuse_out("out", (result, out))
    if same:
        check_same(same, result._data.dtype, out._data.dtype)
    check_cast(result._data.dtype, out._data.dtype)
    check_writable(out, False)


def written(out: Any, result: Any) -> Any:
    resize_out(out, tuple(result._data.shape))
    return out.copy_(result)
