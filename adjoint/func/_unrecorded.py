"""What the levels have in common that record nothing: those of `jvp` and `vmap`."""

from __future__ import annotations

from typing import Any

from .._layer import Level
from .._state import get_mode
from .._tensor import Parameter, Tensor, wrap
from ..ops._general import generally
from ..ops._recording import set_views

SIMPLE = frozenset({Tensor, Parameter, float, int, type(None)})


class Unrecorded(Level):
    """A level whose tensors have no history of their own."""

    def call(self, op: Any, args: tuple[Any, ...]) -> Any:
        operands = list(args[0]) if op.sequence else [args[place] for place in op.places]
        for x in operands:
            if x.__class__ not in SIMPLE:
                return generally(op, args)
        values = dict(zip(op.args, args, strict=True))
        layers = self.forward(op, operands, values)
        tensors = tuple(map(wrap, layers)) if op.several else (wrap(layers),)
        if op.view:
            set_views(op, operands[0], values, tensors, None, get_mode())
        return tensors if op.several else tensors[0]
