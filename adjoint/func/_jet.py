"""Taylor mode: all derivatives along a path up to some order, in one pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from .._errors import compose
from .._layer import lowered_indices, opened
from .._site import here
from .._state import get_mode
from .._tensor import Tensor, wrap
from ..autograd.views import View, overlaps_itself
from ..utils._pytree import tree_flatten, tree_unflatten
from ._arguments import check_outputs
from ._series import Series, Terms, unpacked
from ._taylor import terms_of
from ._unrecorded import Unrecorded


class JetLevel(Unrecorded):
    """The level of Taylor mode: the terms of its series go along with each value."""

    kind = "jet"

    def dressed(self, x: Tensor) -> Tensor:
        return wrap(Series(self, x))

    def forward(self, op: Any, operands: list[Any], values: dict[str, Any]) -> Any:
        pairs = [unpacked(self, x) for x in operands]
        with self.below():
            results = op.on([value for value, _ in pairs], lowered_indices(self, values))
        outs = tuple(results) if op.several else (results,)
        orders = [len(terms) for _, terms in pairs if terms is not None]
        carried: list[Terms | None] = [None] * len(outs)
        if orders and op.differentiable:
            carried = terms_of(self, op, operands, values, outs, min(orders))
            if not op.view:
                own = {id(term) for _, terms in pairs for term in terms or () if term is not None}
                carried = [unshared(terms, own) for terms in carried]
        layers = tuple(Series(self, out, terms) for out, terms in zip(outs, carried, strict=True))
        return layers if op.several else layers[0]

    def write(self, target: Tensor, result: Any) -> None:
        layer, terms = target._data, result.terms
        with self.below():
            layer.value.copy_(result.value)
            if terms is None:
                for term in layer.terms or ():
                    if term is not None:
                        term.zero_()
                return
            own = places_for(target, len(terms))
            for k, term in enumerate(terms):
                if overlaps_itself(own[k]._data):
                    own[k] = own[k].clone()
                own[k].copy_(own[k].new_zeros(()) if term is None else term)
            del own[len(terms) :]

    def function(self, cls: Any, args: tuple[Any, ...], names: tuple[str, ...]) -> NoReturn:
        raise RuntimeError(
            compose(
                f"jet: the custom function {cls.__name__} has a backward and a jvp, but no rule for Taylor series",
                {"here": here()},
                "write it with ordinary operations, or nest jvp instead of jet",
            )
        )


def unshared(terms: Terms | None, taken: set[int]) -> Terms | None:
    """Terms of its own for a result, which may be written to."""
    return None if terms is None else [term.clone() if id(term) in taken else term for term in terms]


def places_for(target: Tensor, order: int) -> Terms:
    """The terms of a tensor that is about to be written to, all present. Those of a view lie in the terms of its base."""
    layer = target._data
    if layer.terms is None:
        layer.terms = [None] * order
    view = target._fn
    for k, term in enumerate(layer.terms):
        if term is None:
            if isinstance(view, View):
                layer.terms[k] = view.replay(places_for(view.base, order)[k])
            else:
                layer.terms[k] = layer.value.new_zeros(layer.value.shape)
    return layer.terms  # type: ignore[no-any-return]


def jet(func: Callable[..., Any], primals: tuple[Any, ...], series: Sequence[Sequence[Any]]) -> tuple[Any, Any]:
    """The value of `func` along a path, and its derivatives with respect to the path's parameter.

    Each argument moves along a path of its own: it starts at its primal, and its list in `series` holds the first, second, ... derivative
    of the path there (a number stands for a tensor full of it). For each result there is such a list. Order n costs n², not 2ⁿ.

    >>> import adjoint as ad
    >>> x = ad.tensor(2.0)
    >>> ad.func.jet(lambda x: x**3, (x,), ([1.0, 0.0, 0.0],))
    (tensor(8.), [tensor(12.), tensor(12.), tensor(6.)])
    """
    order = checked_order(primals, series)
    level = JetLevel()
    inputs = [wrap(Series(level, x, normalized_terms(x, terms))) for x, terms in zip(primals, series, strict=True)]
    with opened(level, get_mode()):
        output = func(*inputs)
        leaves, spec = tree_flatten(output)
        check_outputs("jet(f, primals, series)", output, leaves)
        pairs = [unpacked(level, leaf) for leaf in leaves]
    values = tree_unflatten([value for value, _ in pairs], spec)
    return values, tree_unflatten([derivatives_along(value, terms or [None] * order) for value, terms in pairs], spec)


def checked_order(primals: Any, series: Any) -> int:
    """The number of derivatives, which is the same for all arguments."""
    if not isinstance(primals, tuple) or not primals:
        raise RuntimeError("jet(f, primals, series): Expected primals to be a non-empty tuple of Tensors: jet(f, (x,), ([v, 0.0],))")
    if not isinstance(series, tuple | list) or len(series) != len(primals):
        raise RuntimeError("jet(f, primals, series): Expected a list of derivatives for each of the primals: jet(f, (x, y), ([v], [w]))")
    for x, terms in zip(primals, series, strict=True):
        if not isinstance(x, Tensor) or not (x.is_floating_point() or x.is_complex()):
            raise RuntimeError(f"jet(f, primals, series): Expected floating-point Tensors as primals, got {getattr(x, 'dtype', type(x))}")
        if not isinstance(terms, tuple | list) or len(terms) != len(series[0]):
            raise RuntimeError("jet(f, primals, series): Expected lists of derivatives, all of one length")
        for term in terms:
            if isinstance(term, Tensor) and term.shape != x.shape:
                raise RuntimeError(
                    "jet(f, primals, series): Expected the derivatives of a path to have the size of its primal, "
                    f"{list(x.shape)}, got {list(term.shape)}"
                )
    return len(series[0])


def normalized_terms(x: Tensor, derivatives: Sequence[Any]) -> Terms:
    """The terms of a series from the derivatives of a path."""
    terms: Terms = []
    for k, given in enumerate(derivatives, 1):
        if isinstance(given, Tensor):
            terms.append(given / math.factorial(k) if k > 1 else given.clone())
        else:
            terms.append(x.new_full(x.shape, given / math.factorial(k)) if given else None)
    return terms


def derivatives_along(value: Tensor, terms: Terms) -> Terms:
    return [value.new_zeros(value.shape) if term is None else term * math.factorial(k) for k, term in enumerate(terms, 1)]
