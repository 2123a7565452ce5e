"""The level of reverse mode: ops on its tensors are recorded in a graph of their own, whose values are Tensors one level down."""

from __future__ import annotations

from typing import Any

from .._layer import Layer, Level, level_of, lowered_indices
from .._tensor import Tensor, wrap
from ..autograd.node import LEAF


class Recorded(Layer):
    """A value that a level of reverse mode knows about."""

    __slots__ = ()


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

    def forward(self, op: Any, operands: list[Any], values: dict[str, Any]) -> Any:
        with self.below():
            results = op.on([self.lower(x) for x in operands], lowered_indices(self, values))
        return tuple(Recorded(self, result) for result in results) if op.several else Recorded(self, results)

    def write(self, target: Tensor, result: Any) -> None:
        with self.below():
            target._data.value.copy_(result.value)

    def function(self, cls: Any, args: tuple[Any, ...], names: tuple[str, ...]) -> Any:
        with self.below():
            output = cls.apply_named([self.lower(x) for x in args], names)
        return tuple(map(self.lift, output)) if isinstance(output, tuple) else self.lift(output)
