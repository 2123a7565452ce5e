"""The level of `vmap`: a dimension in front of each tensor that the function does not see."""

from __future__ import annotations

from typing import Any, NoReturn

from .._dtype import from_numpy_dtype
from .._errors import compose
from .._layer import Layer, Level, array_below, indices_in, level_of, settled
from .._site import here
from .._tensor import Tensor, wrap
from ..ops import _batching
from ..ops._general import common_dtype
from ..ops._registry import KEEP


class Batched(Layer):
    """All examples at once: the first dimension of the value is that of the batch."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.value._data.shape[1:])

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(self.value._data.strides[1:])

    def item(self) -> NoReturn:
        raise RuntimeError(
            compose(
                "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please "
                "try to rewrite what you're doing with other operations.",
                {"here": here()},
                "keep the value a tensor: x * y instead of x * y.item()",
            )
        )

    tolist = item

    def __bool__(self) -> NoReturn:
        raise RuntimeError(
            compose(
                "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, "
                "because the examples of a batch would take different branches.",
                {"here": here()},
                "compute both branches and choose: torch.where(condition, a, b)",
            )
        )


class VmapLevel(Level):
    kind = "vmap"
    hides_dimension = True

    def __init__(self, size: int, randomness: str) -> None:
        super().__init__()
        self.size = size
        self.randomness = randomness

    def lift(self, x: Any) -> Any:
        return x  # what is the same for all examples stays small

    def dressed(self, x: Tensor) -> Tensor:
        return wrap(Batched(self, _batching.expanded(x, self.size).clone()))  # it may be written to

    def unpacked(self, x: Any) -> tuple[Any, bool]:
        return (x._data.value, True) if level_of(x) is self else (x, False)

    def forward(self, op: Any, operands: list[Any], values: dict[str, Any]) -> Any:
        pairs = [self.unpacked(x) for x in self.promoted(op, operands)]
        indices = indices_in(values)
        if indices:
            values = {**values, "indices": tuple(map(self.index, indices))}
        results = _batching.run(op, [x for x, _ in pairs], [is_batched for _, is_batched in pairs], values, self.size)
        return tuple(Batched(self, x) for x in results) if op.several else Batched(self, results)

    def promoted(self, op: Any, operands: list[Any]) -> list[Any]:
        """Operands in the dtype of the result: an example without dimensions counts less than one with them, but not so its batch."""
        tensors = [x for x in operands if isinstance(x, Tensor)]
        if op.promote == KEEP or len({x.dtype for x in tensors}) == 1:
            return operands
        dtype = from_numpy_dtype(common_dtype(op, [x._data if isinstance(x, Tensor) else x for x in operands]))
        return [x.to(dtype) if isinstance(x, Tensor) else x for x in operands]

    def index(self, item: Any) -> Any:
        """An index of `x[...]` with a mark whether it is batched."""
        return _batching.Index(array_below(self, item)) if level_of(item) is self else getattr(item, "_data", item)

    def check_target(self, op: Any, operands: list[Any], values: dict[str, Any]) -> None:
        if level_of(settled(operands[0])) is not self:
            raise RuntimeError(
                f"vmap: {op.name}_(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
                "elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap.\n"
                "  fix: use the out-of-place form, or make self with other.new_zeros(...) instead of torch.zeros(...)"
            )

    def write(self, target: Tensor, result: Any) -> None:
        target._data.value.copy_(result.value)

    def function(self, cls: Any, args: tuple[Any, ...], names: tuple[str, ...]) -> Any:
        from ._functions import vmapped

        return vmapped(self, cls, args, names)
