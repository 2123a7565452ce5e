"""The level of forward mode: a tangent goes along with each value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._layer import Layer, Level, level_of, lowered_indices, raised
from .._state import INFERENCE, get_mode, reset_mode, set_mode
from .._tensor import Tensor, wrap
from ..autograd.views import INFERENCE_VIEW, View, overlaps_itself
from ..ops._general import generally
from ..ops._registry import LINEAR
from ..ops._tangents import tangents_of
from ._unrecorded import SIMPLE, Unrecorded


class Dual(Layer):
    """A value and its tangent, which is None where the value does not depend on what the level differentiates."""

    __slots__ = ("replaced", "tangent")

    def __init__(self, level: Level, value: Tensor, tangent: Tensor | None = None) -> None:
        super().__init__(level, value)
        self.tangent = tangent
        self.replaced = tangent is None  # whether views made before may not know this tangent

    def mapped(self, function: Callable[[Tensor], Tensor]) -> Dual:
        return Dual(self.level, function(self.value), None if self.tangent is None else function(self.tangent))


def levels_of(x: Tensor) -> set[Level]:
    """All levels that a Tensor belongs to."""
    found = set()
    while (level := level_of(x)) is not None:
        found.add(level)
        x = x._data.value
    return found


class JvpLevel(Unrecorded):
    kind = "grad (vjp, jvp, grad, etc)"

    def dressed(self, x: Tensor) -> Tensor:
        return wrap(Dual(self, x))

    def unpacked(self, x: Any) -> tuple[Any, Tensor | None]:
        """The value of a tensor one level down, and its tangent at this level."""
        return (x._data.value, self.tangent(x)) if level_of(x) is self else (x, None)

    def tangent(self, x: Any) -> Tensor | None:
        """The tangent of a tensor of this level. That of a view is a view of the one that its base has now."""
        layer, view = x._data, x._fn
        if view.__class__ is View and view.creation is not INFERENCE_VIEW:
            base = view.base._data
            if base.__class__ is Dual and base.replaced and base.tangent is not None:
                layer.tangent = view.replay(base.tangent)
        return layer.tangent  # type: ignore[no-any-return]

    def carries(self, op: Any) -> bool:
        """Whether an op passes tangents on: not in an inference mode that began inside the transform."""
        return op.differentiable and not get_mode() & ~self.outside & INFERENCE

    def call(self, op: Any, args: tuple[Any, ...]) -> Any:
        if op.sequence or op.view or op.several or op.keywords:
            return super().call(op, args)
        primals, tangents, known = list(args), [], False
        for place in op.places:
            x = args[place]
            if x.__class__ not in SIMPLE:
                return generally(op, args)
            data = getattr(x, "_data", None)
            tangent = None
            if data.__class__ is Dual and data.level is self:
                primals[place], tangent = data.value, self.tangent(x)
            tangents.append(tangent)
            known = known or tangent is not None
        known = known and self.carries(op)
        token = set_mode(self.mode_below())
        try:
            out = op.function(*primals)
            if not known:
                carried = None
            elif op.jvp == LINEAR and len(tangents) == 1:
                primals[op.places[0]] = tangents[0]
                carried = op.function(*primals)
            else:
                values = dict(zip(op.args, primals, strict=True))
                (carried,) = tangents_of(op, [primals[place] for place in op.places], values, (out,), tangents)
        finally:
            reset_mode(token)
        return wrap(Dual(self, out, carried))

    def forward(self, op: Any, operands: list[Any], values: dict[str, Any]) -> Any:
        pairs = [self.unpacked(x) for x in operands]
        primals, tangents = [primal for primal, _ in pairs], [tangent for _, tangent in pairs]
        values = lowered_indices(self, values)
        known = any(tangent is not None for tangent in tangents) and self.carries(op)
        with self.below():
            results = op.on(primals, values)
            outs = tuple(results) if op.several else (results,)
            carried = tangents_of(op, primals, values, outs, tangents) if known else [None] * len(outs)
        layers = tuple(Dual(self, out, tangent) for out, tangent in zip(outs, carried, strict=True))
        return layers if op.several else layers[0]

    def write(self, target: Tensor, result: Any) -> None:
        layer, tangent = target._data, result.tangent
        with self.below():
            layer.value.copy_(result.value)
            own = self.tangent(target)
            if tangent is None:
                if own is not None:
                    own.zero_()
                return
            # A write to a view shows in the base and in its other views, and so does its tangent.
            view = target._fn
            holder = view.base._data if isinstance(view, View) else layer
            if holder.tangent is None or levels_of(tangent) - levels_of(holder.tangent):
                room = holder.value.new_zeros(holder.shape) if holder.tangent is None else holder.tangent
                holder.tangent, holder.replaced = raised(room, tangent), True
                layer.tangent = self.tangent(target)
            if overlaps_itself(layer.tangent._data):
                layer.tangent = tangent.clone()
            else:
                layer.tangent.copy_(tangent)

    def function(self, cls: Any, args: tuple[Any, ...], names: tuple[str, ...]) -> Any:
        from ._functions import below_jvp

        return below_jvp(self, cls, args, names)
