"""The level of reverse mode: ops on its tensors are recorded in a graph of their own, whose values are Tensors one level down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._layer import Layer, Level, level_of, lowered_indices
from .._state import reset_mode, set_mode
from .._tensor import Parameter, Tensor, wrap
from ..autograd.node import LEAF
from ..ops._codegen import nested_function


class Recorded(Layer):
    """A value that a level of reverse mode knows about."""

    __slots__ = ()


def forward_below(op: Any) -> Callable[..., Any]:
    """The forward of an op on layers: the op itself on what they hold."""
    function, sequence, several = op.function, op.sequence, op.several
    first = op.args.index(op.inputs[0])

    def forward(*args: Any, **options: Any) -> Any:
        level = (args[0][0] if sequence else args[first]).level
        token = set_mode(level.mode_below())
        try:
            if sequence:
                result = function([layer.value for layer in args[0]], *args[1:], **options)
            else:
                result = function(*[x.value if x.__class__ is Recorded else x for x in args], **options)
        finally:
            reset_mode(token)
        return tuple([Recorded(level, x) for x in result]) if several else Recorded(level, result)

    return forward


def recorded_layers(tensors: Any) -> list[Recorded] | None:
    """The layers of a list of Tensors of one level, all of one floating-point dtype."""
    layers = [tensor._data for tensor in tensors]
    dtype = layers[0].dtype if layers else None
    return layers if dtype is not None and dtype.kind == "f" and all(layer.dtype is dtype for layer in layers) else None


class GradLevel(Level):
    kind = "grad (vjp, jvp, grad, etc)"
    records = True

    def dressed(self, x: Tensor) -> Tensor:
        return wrap(Recorded(self, x))

    def leaf(self, x: Tensor) -> Tensor:
        """A tensor with respect to which the level differentiates."""
        made = self.dressed(x)
        made._fn = LEAF
        return made

    def lower(self, x: Any) -> Any:
        return x._data.value if level_of(x) is self else x

    def call(self, op: Any, args: tuple[Any, ...]) -> Any:
        recorder = op.recorder
        if recorder is None:
            recorder = op.recorder = nested_function(op, forward_below(op), Recorded, recorded_layers)
        if op.sequence:
            return recorder(list(map(self.lift, args[0])), *args[1:])
        lifted = list(args)
        for place in op.places:
            x = args[place]
            if (x.__class__ is Tensor or x.__class__ is Parameter) and not (x._data.__class__ is Recorded and x._data.level is self):
                lifted[place] = self.dressed(x)
        return recorder(*lifted)

    def forward(self, op: Any, operands: list[Any], values: dict[str, Any]) -> Any:
        with self.below():
            results = op.on([self.lower(x) for x in operands], lowered_indices(self, values))
        return tuple(Recorded(self, result) for result in results) if op.several else Recorded(self, results)

    def write(self, target: Tensor, result: Any) -> None:
        with self.below():
            target._data.value.copy_(result.value)

    def function(self, cls: Any, args: tuple[Any, ...], names: tuple[str, ...]) -> Any:
        from ._functions import below_grad

        return below_grad(self, cls, args, names)
