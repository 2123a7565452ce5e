"""Layers: what a Tensor holds inside a function transform.

A transform (`func.grad`, `func.jvp`, `func.vmap`) opens a Level and calls its function with Tensors that stand for others: each holds, in
the place of an array, a Layer over the Tensor one level down.

    x                     Tensor over an array
    vmap                  Tensor over a Batched over x
    grad inside vmap      Tensor over a Recorded over a Tensor over a Batched over x

An op on such Tensors belongs to the highest level among its operands. That level says what the op means there (record it, carry a tangent
along, treat a hidden dimension) in terms of the same op one level down; so transforms nest in any order and to any depth. Tensors of lower
levels are constants to it.

Note [The dtype of a layer]
Generated code takes its fast path where a dtype *is* float32's. A layer's dtype equals it and is another object, so that every op on layers
takes the general path, and ordinary tensors pay nothing for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import count
from textwrap import indent
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ._dtype import from_numpy_dtype
from ._state import GRAD, get_mode, reset_mode, set_mode

if TYPE_CHECKING:
    from ._tensor import Tensor
    from .ops._registry import Op


@cache
def marked(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """An equal dtype that is another object; see Note [The dtype of a layer]."""
    return np.dtype(dtype, metadata={"layer": True})


class Level:
    """A transform that is running, or was: the graph that `vjp` leaves behind outlives it. One that begins later is deeper."""

    kind = "transform"
    hides_dimension = False  # whether its tensors are larger than they look
    records = False  # whether ops on its tensors are recorded for backward

    _depths = count(1)

    def __init__(self) -> None:
        self.depth = next(self._depths)
        self.number = len(levels()) + 1  # among those that are running
        self.outside = get_mode()  # the modes of the code around the transform
        self.alive = True

    def dressed(self, x: Tensor) -> Tensor:
        """A Tensor of this level that has the value of one of a lower level, a constant."""
        raise NotImplementedError

    def lift(self, x: Any) -> Any:
        """The same, for any operand: what is no Tensor, or of this level already, stays as it is."""
        return self.dressed(x) if hasattr(x, "_data") and level_of(x) is not self else x

    def call(self, op: Op, args: tuple[Any, ...]) -> Any:
        """An op on Tensors the highest of which are of this level, with arguments in the order of its signature."""
        raise NotImplementedError

    def forward(self, op: Op, operands: list[Any], values: dict[str, Any]) -> Any:
        """The layers that an op makes of operands of this level."""
        raise NotImplementedError

    def check_target(self, op: Op, operands: list[Any], values: dict[str, Any]) -> None:
        """Refuse a write of this level's values into a Tensor that the transform was not given."""
        if level_of(settled(operands[0])) is not self:
            raise RuntimeError(
                f"During a {self.kind} transform, the function provided attempted to call in-place operation (aten::{op.name}_) that "
                "would mutate a captured Tensor. This is not supported; please rewrite the function being transformed to explicitly accept "
                "the mutated Tensor(s) as inputs."
            )

    def write(self, target: Tensor, result: Any) -> None:
        """Put what an op has made into the memory of a Tensor."""
        raise NotImplementedError

    def function(self, cls: Any, args: tuple[Any, ...], names: tuple[str, ...]) -> Any:
        """Apply a custom Function; the last arguments go by the given names."""
        raise NotImplementedError

    def mode_below(self) -> int:
        """The modes in which the levels below compute: as the code around the transform, and without a record where there is none here."""
        return self.outside if get_mode() & GRAD else self.outside & ~GRAD

    @contextmanager
    def below(self) -> Iterator[None]:
        """Compute as the code around the transform would."""
        token = set_mode(self.mode_below())
        try:
            yield
        finally:
            reset_mode(token)

    @contextmanager
    def left(self) -> Iterator[None]:
        """The same for a while, without the transform, if it is still running: what is made meanwhile is not its."""
        if not self.alive:
            yield
            return
        running = _levels.set(tuple(level for level in levels() if level.depth < self.depth))
        try:
            with self.below():
                yield
        finally:
            _levels.reset(running)


_levels: ContextVar[tuple[Level, ...]] = ContextVar("adjoint_levels", default=())
levels = _levels.get


@contextmanager
def opened(level: Level, mode: int) -> Iterator[None]:
    """Run a transform: `level` is the innermost one meanwhile, and `mode` holds."""
    running = _levels.set((*levels(), level))
    token = set_mode(mode)
    try:
        yield
    finally:
        reset_mode(token)
        _levels.reset(running)
        level.alive = False


class Layer:
    """What a Tensor of a level holds: the Tensor one level down. Behaves as an array as far as facts are concerned."""

    __slots__ = ("dtype", "level", "value")
    shown = "GradTrackingTensor"  # what PyTorch calls it when it is printed
    place = ""  # of the batch

    def __init__(self, level: Level, value: Tensor) -> None:
        self.level = level
        self.value = value
        self.dtype: np.dtype[Any] = marked(value._data.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.value._data.shape)

    @property
    def device(self) -> Any:
        return getattr(self.value._data, "device", "cpu")

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(self.value._data.strides)

    @property
    def flags(self) -> Any:
        return self.value._data.flags

    def item(self) -> Any:
        return self.value.item()

    def tolist(self) -> Any:
        return self.value.tolist()

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.item())

    __index__ = __int__

    def mapped(self, function: Callable[[Tensor], Tensor]) -> Layer:
        """The layer over what a linear function makes of the values."""
        return type(self)(self.level, function(self.value))

    def detached(self) -> Layer:
        """The same value without derivatives of any level."""
        return type(self)(self.level, self.value.detach())

    def copy(self, order: str = "C") -> Layer:
        return self.mapped(lambda value: value.clone())

    def astype(self, dtype: np.dtype[Any], copy: bool = True) -> Layer:
        return self.mapped(lambda value: value.to(from_numpy_dtype(dtype)))

    def refuse_storage(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Say that the elements of one example, or of a value with its derivatives, are nowhere by themselves."""
        raise RuntimeError(
            f"Cannot access data pointer of Tensor that doesn't have storage: this one lives inside {self.level.kind}\n"
            "  fix: call .numpy() on the result of the transform, outside of the function that is transformed"
        )

    __array__ = refuse_storage

    def __repr__(self) -> str:
        return f"{self.shown}(lvl={self.level.number}{self.place}, value=\n{indent(repr(self.value), '    ')}\n)"


class Pending:
    """What a Tensor holds instead of an array when its elements are to be read conjugated or negated: `conj` of complex numbers is a view.

    Ops compute with what it stands for (`resolved`), and write through it; view ops make a view of the memory, pending in the same way.
    The mark on its dtype keeps generated code away, as from a layer; see Note [The dtype of a layer]. To NumPy it is what it stands for.
    """

    __slots__ = ("array", "conj", "dtype", "neg")

    def __init__(self, array: Any, conj: bool, neg: bool) -> None:
        self.array = array
        self.conj = conj
        self.neg = neg
        self.dtype: np.dtype[Any] = marked(array.dtype)

    @staticmethod
    def of(data: Any, conj: bool = False, neg: bool = False) -> Any:
        """The conjugate or the negative of an array, which may be pending already. Two conjugations make none."""
        if data.__class__ is Pending:
            data, conj, neg = data.array, conj != data.conj, neg != data.neg
        return Pending(data, conj, neg) if conj or neg else data.view()

    shape = property(lambda self: self.array.shape)
    ndim = property(lambda self: self.array.ndim)
    size = property(lambda self: self.array.size)
    itemsize = property(lambda self: self.array.itemsize)
    nbytes = property(lambda self: self.array.nbytes)
    strides = property(lambda self: self.array.strides)
    flags = property(lambda self: self.array.flags)
    base = property(lambda self: self.array)  # that of which it is a view

    def __reduce__(self) -> Any:
        return Pending, (self.array, self.conj, self.neg)

    def like(self, array: Any) -> Pending:
        """Another array, pending in the same way."""
        return Pending(array, self.conj, self.neg)

    def applied(self, values: Any) -> Any:
        """Values, conjugated or negated: what is read of those in memory, and what is put there for those to be read."""
        values = np.conjugate(values) if self.conj else values
        return np.negative(values) if self.neg else values

    def resolved(self) -> Any:
        """What it stands for, in an array of its own."""
        return np.asarray(self.applied(self.array))

    def __setitem__(self, place: Any, values: Any) -> None:
        self.array[place] = self.applied(values)

    def copy(self, order: str = "C") -> Any:
        return self.resolved()

    def astype(self, dtype: np.dtype[Any], **options: Any) -> Any:
        return self.resolved().astype(dtype, **options)

    def item(self) -> Any:
        return self.resolved().item()

    def tolist(self) -> Any:
        return self.resolved().tolist()

    def __bool__(self) -> bool:
        return bool(self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.resolved(), dtype)


def refuse_inside(call: str, besides: str = "") -> NoReturn:
    """Refuse what would change tensors for ordinary autograd while a transform is running."""
    raise RuntimeError(
        f"You are attempting to call Tensor.{call}{besides} inside of a function being transformed by a functorch transform. This is "
        "unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call "
        f"{call} outside of a function being transformed instead."
    )


def refuse_other_memory(*tensors: Any) -> None:
    """Refuse `x.data = value` where one of them belongs to a transform."""
    if any(isinstance(x._data, Layer) for x in tensors):
        where = "under vmap transform" if any(level.hides_dimension for level in levels()) else "inside functorch transform"
        raise RuntimeError(f"mutating directly with `.data` {where} is not allowed.\n  fix: x = value, or x.copy_(value)")


def refuse_out(name: str, given: Iterable[Any]) -> None:
    """Refuse `out=` for levels that hide something of their tensors: an example, or a value with its tangent, has no memory of its own."""
    level = top_level(given)
    if level is None:
        return
    if level.hides_dimension:
        raise RuntimeError(
            f"Batching rule not implemented for aten::{name}.out; the fallback path doesn't work on out= or view ops.\n"
            f"  fix: result = torch.{name}(...) without out="
        )
    if not level.records:
        raise NotImplementedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function\n"
            f"  fix: result = torch.{name}(...) without out="
        )


def ordinary(indices: tuple[Any, ...]) -> bool:
    """Whether the arrays among indices are NumPy's own."""
    for item in indices:
        if item.__class__ is not np.ndarray and item.__class__ is not slice:
            return False
    return True


def level_of(x: Any) -> Level | None:
    """The level that a Tensor (or what it holds) belongs to; None for an ordinary one."""
    data = getattr(x, "_data", x)
    return data.level if isinstance(data, Layer) else None


def lowered_indices(level: Level, values: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an op one level down. Only the indices of `x[...]` may hold layers."""
    indices = indices_in(values)
    return {**values, "indices": tuple(array_below(level, item) for item in indices)} if indices else values


def array_below(level: Level, item: Any) -> Any:
    """What an index holds one level down."""
    data = getattr(item, "_data", item)
    return data.value._data if level_of(item) is level else data


def settled(x: Any) -> Any:
    """A Tensor without the layers of transforms that have ended."""
    level = level_of(x)
    while level is not None and not level.alive:
        if level.hides_dimension:
            raise RuntimeError(
                "Either your tensor may have escaped from inside a function being vmapped and this is a user error: it was kept in a "
                f"global or an attribute, and {level.kind} has ended\n"
                "  fix: return it from the function that is transformed"
            )
        x = x._data.value if hasattr(x, "_data") else x.value._data
        level = level_of(x)
    return x


def top_level(operands: Iterable[Any]) -> Level | None:
    """The highest level among operands, None if all are ordinary."""
    top: Level | None = None
    for x in operands:
        level = level_of(x)
        if level is not None and (top is None or level.depth > top.depth):
            top = level
    return top


def indices_in(values: dict[str, Any]) -> tuple[Any, ...]:
    """The one parameter of ops that may hold layers: the indices of `x[...]`."""
    found = values.get("indices")
    return found if isinstance(found, tuple) else ()


def entered(operands: list[Any], values: dict[str, Any]) -> tuple[Level | None, list[Any], dict[str, Any]]:
    """The level to which an op on these operands belongs, and the operands and parameters as it takes them."""
    indices = indices_in(values)
    if top_level((*operands, *indices)) is None:
        return None, operands, values
    operands = list(map(settled, operands))
    if indices:
        values = {**values, "indices": tuple(map(settled, indices))}
    level = top_level((*operands, *indices_in(values)))
    return level, operands if level is None else [level.lift(x) for x in operands], values


def deepest(x: Any) -> Any:
    """The array at the bottom of a Tensor's layers: all examples, without derivatives."""
    data = bottom(x)
    return data.resolved() if data.__class__ is Pending else data


def bottom(x: Any) -> Any:
    """The same, as it lies in memory."""
    data = x._data
    while isinstance(data, Layer):
        data = data.value._data
    return data


def made_inside(made: Tensor) -> Tensor:
    """A new Tensor of numbers for the transforms that are running, so that the code inside may write results into it. For `vmap` it is the
    same for all examples, and one that requires grad is a leaf of the innermost level of the others."""
    running = levels()
    if not running or made._data.__class__ is not np.ndarray:
        return made
    return dressed_for([level for level in running if not level.hides_dimension], made)


def dressed_for(running: list[Level], made: Tensor) -> Tensor:
    """A new Tensor for some levels, from the outermost to the innermost."""
    leaf = made.requires_grad
    if not running or made._data.dtype.kind not in "fcV" or (leaf and not running[-1].records):
        return made
    if leaf:
        made.requires_grad = False
    for level in running:
        made = level.dressed(made)
    if leaf:
        made.requires_grad = True
    return made


def in_layers_of(like: Tensor, made: Tensor) -> Tensor:
    """A new Tensor for the levels that another one belongs to, so that results of those levels can be written into it."""
    data = like._data
    return data.level.dressed(in_layers_of(data.value, made)) if isinstance(data, Layer) else made


def raised(x: Tensor, other: Any) -> Tensor:
    """A new Tensor, made one that what `other` holds can be written into: it gets the levels of that one too."""
    level = top_level((x, other))
    if level is None:
        return x
    below = other._data.value if level_of(other) is level else other
    if level_of(x) is not level:
        return level.dressed(raised(x, below))
    x._data = x._data.mapped(lambda value: raised(value, below))
    return x
