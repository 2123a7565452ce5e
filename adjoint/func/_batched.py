"""The level of `vmap`: a dimension in front of each tensor that the function does not see."""

from __future__ import annotations

from typing import Any, NoReturn

from .._dtype import from_numpy_dtype
from .._errors import compose
from .._layer import Layer, array_below, indices_in, level_of, settled
from .._site import here
from .._state import get_mode
from .._tensor import Parameter, Tensor, wrap
from ..ops import _batching
from ..ops._forward import common_dtype
from ..ops._general import generally
from ..ops._recording import set_views
from ..ops._registry import FUNCTIONS, KEEP
from ._unrecorded import SIMPLE, Unrecorded


class Batched(Layer):
    """All examples at once: the first dimension of the value is that of the batch."""

    __slots__ = ()
    shown = "BatchedTensor"
    place = ", bdim=0"

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

    tolist = Layer.refuse_storage

    def __bool__(self) -> NoReturn:
        raise RuntimeError(
            compose(
                "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, "
                "because the examples of a batch would take different branches.",
                {"here": here()},
                "compute both branches and choose: torch.where(condition, a, b)",
            )
        )


def moved_to_front(x: Tensor, dim: int) -> Tensor:
    return FUNCTIONS["movedim"](x, dim, 0) if dim else x


class VmapLevel(Unrecorded):
    kind = "vmap"
    hides_dimension = True

    def __init__(self, size: int, randomness: str) -> None:
        super().__init__()
        self.size = size
        self.randomness = randomness
        self.places: dict[int, tuple[Batched, int]] = {}  # inputs that have the batch elsewhere than in front, by identity

    def lift(self, x: Any) -> Any:
        return x  # what is the same for all examples stays small

    def dressed(self, x: Tensor) -> Tensor:
        return wrap(Batched(self, _batching.expanded(x, self.size).clone()))  # it may be written to

    def given(self, x: Tensor, dim: int) -> Tensor:
        """An input of the function, whose dimension `dim` counts the examples."""
        made = wrap(Batched(self, moved_to_front(x, dim)))
        if dim:
            self.places[id(made._data)] = made._data, dim
        return made

    def as_given(self, x: Any) -> tuple[Any, int | None]:
        """What a tensor holds, and where the batch is: in front unless an input has it elsewhere, nowhere in tensors of other levels."""
        if level_of(x) is not self:
            return x, None
        dim = self.places[id(x._data)][1] if id(x._data) in self.places else 0
        return (FUNCTIONS["movedim"](x._data.value, 0, dim) if dim else x._data.value), dim

    def batched(self, value: Tensor) -> Tensor:
        """A tensor of the level, from one that has the batch in front."""
        return wrap(Batched(self, value))

    def unpacked(self, x: Any) -> tuple[Any, bool]:
        return (x._data.value, True) if level_of(x) is self else (x, False)

    def call(self, op: Any, args: tuple[Any, ...]) -> Any:
        if op.sequence or op.batch.__class__ is _batching.Composed:
            return super().call(op, args)
        physical = list(args)
        batched = []
        dtype = None
        for place in op.places:
            x = args[place]
            mine = False
            if x.__class__ is Tensor or x.__class__ is Parameter:
                data = x._data
                if dtype is None:
                    dtype = data.dtype
                elif op.promote != KEEP and data.dtype != dtype:
                    return super().call(op, args)
                if data.__class__ is Batched and data.level is self:
                    physical[place], mine = data.value, True
            elif x.__class__ not in SIMPLE:
                return generally(op, args)
            batched.append(mine)
        results = _batching.run(op, physical, batched, self.size)
        if not op.several and not op.view:
            return wrap(Batched(self, results))
        tensors = tuple([wrap(Batched(self, x)) for x in (results if op.several else (results,))])
        if op.view:
            set_views(op, args[op.places[0]], dict(zip(op.args, args, strict=True)), tensors, None, get_mode())
        return tensors if op.several else tensors[0]

    def forward(self, op: Any, operands: list[Any], values: dict[str, Any]) -> Any:
        if isinstance(op.batch, _batching.Composed):
            composed = op.batch.on(op, operands, values)
            return tuple(map(self.layer_of, composed)) if op.several else self.layer_of(composed)
        pairs = [self.unpacked(x) for x in self.promoted(op, operands)]
        indices = indices_in(values)
        if indices:
            values = {**values, "indices": tuple(map(self.index, indices))}
        args = _batching.with_operands(op, [values[name] for name in op.args], [x for x, _ in pairs])
        results = _batching.run(op, args, [is_batched for _, is_batched in pairs], self.size)
        return tuple(Batched(self, x) for x in results) if op.several else Batched(self, results)

    def layer_of(self, x: Tensor) -> Batched:
        return x._data if level_of(x) is self else self.dressed(x)._data  # type: ignore[no-any-return]

    def promoted(self, op: Any, operands: list[Any]) -> list[Any]:
        """Operands in the dtype of the result: an example without dimensions counts less than one with them, but not so its batch."""
        if op.promote == KEEP or len({x.dtype for x in operands if isinstance(x, Tensor)}) == 1:
            return operands
        dtype = from_numpy_dtype(common_dtype(op, [x._data if isinstance(x, Tensor) else x for x in operands]))
        return [x.to(dtype) if isinstance(x, Tensor) else x for x in operands]

    def index(self, item: Any) -> Any:
        """An index of `x[...]` with a mark whether it is batched."""
        return _batching.Index(array_below(self, item)) if level_of(item) is self else getattr(item, "_data", item)

    def check_target(self, op: Any, operands: list[Any], values: dict[str, Any]) -> None:
        if level_of(settled(operands[0])) is not self:
            arithmetic = op.broadcasts or op.name == "copy"
            name = "inplace arithmetic" if arithmetic else f"{op.name.removesuffix('_tensor').removesuffix('_value')}_"
            raise RuntimeError(
                compose(
                    f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
                    "elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap.",
                    {"here": here()},
                    "use the out-of-place form, or make self with other.new_zeros(...) instead of torch.zeros(...)",
                )
            )

    def write(self, target: Tensor, result: Any) -> None:
        target._data.value.copy_(result.value)

    def function(self, cls: Any, args: tuple[Any, ...], names: tuple[str, ...]) -> Any:
        from ._functions import vmapped

        return vmapped(self, cls, args, names)
