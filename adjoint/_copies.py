"""The functions named `..._copy`: what a view would show, in memory of its own."""

from __future__ import annotations

from inspect import Parameter, Signature, signature
from typing import Any

from ._layout import contiguous_format
from ._methods import OpMethods
from .ops._generated import NUMPY_NAMES
from .ops._generated import publish as _publish
from .ops._out import into
from .ops._registry import FUNCTIONS, SAME
from .ops._rules import wrap_dim
from .ops.parts import EVERYTHING


def _alias(input: Any) -> Any:
    return input


def _slice(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    return input[(*(EVERYTHING,) * wrap_dim(dim, input.ndim), slice(start, end, step))]


def _view(input: Any, *args: Any, **kwargs: Any) -> Any:
    return input.contiguous().view(*args, **kwargs)  # a copy need not be seen in memory


_view.__wrapped__ = getattr(OpMethods, "view")  # type: ignore[attr-defined]  # noqa: B009


def _copy_of(name: str, view: Any, several: bool) -> Any:
    def copy(input: Any, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        viewed = view(input, *args, **kwargs)
        if not several:
            return into(out, viewed.clone(memory_format=contiguous_format), SAME)
        if out is None:
            return tuple(part.clone(memory_format=contiguous_format) for part in viewed)
        for target, part in zip(out, viewed, strict=True):
            into(target, part)
        return None

    copy.__name__ = copy.__qualname__ = f"{name}_copy"
    copy.__doc__ = f"`{name}`, as a copy instead of a view."
    given = [p for p in signature(view).parameters.values() if p.name not in NUMPY_NAMES]
    out = Parameter("out", Parameter.KEYWORD_ONLY, default=None)
    copy.__signature__ = Signature([*given, out])  # type: ignore[attr-defined]
    return copy


_SEVERAL = ("split", "split_with_sizes", "unbind")
_METHODS = ("as_strided", "diagonal", "expand", "permute", "select", "squeeze", "t", "transpose", "unfold", "unsqueeze", "view", *_SEVERAL)
_VIEWS = {name: getattr(OpMethods, name) for name in _METHODS}
_VIEWS |= {name: FUNCTIONS[name] for name in ("view_as_complex", "view_as_real")}
_VIEWS |= {"alias": _alias, "view": _view, "detach": lambda input: input.detach(), "slice": _slice}

globals().update({f"{name}_copy": _copy_of(name, view, name in _SEVERAL) for name, view in _VIEWS.items()})
_publish(globals(), "", [name for name in globals() if name.endswith("_copy")])
