"""Custom functions inside transforms.

A level treats a custom function as it treats an op: the function is applied to the values one level down, and the level adds what it is
there for. For `grad` and `jvp` that is the user's `backward` and `jvp`. For `vmap` the user gives a rule, or asks for one with
`generate_vmap_rule = True`: then another custom function, made here, runs the parts of the first one on whole batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from .._layer import Level, _levels, level_of, levels, opened, settled, top_level
from .._state import get_mode
from .._tensor import Tensor, wrap
from ..autograd.function import Function, FunctionCtx, expands_to, tangents_from
from ..autograd.grad_mode import enable_grad
from ..ops._rules import sum_to
from ..utils._pytree import broadcast_prefix, tree_flatten, tree_map, tree_unflatten
from ._batched import Batched, VmapLevel, moved_to_front
from ._dual import Dual, JvpLevel
from ._recorded import GradLevel

MORE = "see the notes on extending torch.func"


def level_of_call(cls: type[Function], operands: tuple[Any, ...]) -> tuple[Level | None, tuple[Any, ...]]:
    """The level that a call of a custom function belongs to, and the arguments as it takes them."""
    if levels() and cls.setup_context is Function.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
            f"setup_context staticmethod: write forward(*args) without ctx, and setup_context(ctx, inputs, output); {MORE}"
        )
    operands = tree_map(settled, operands)
    level = top_level(tree_flatten(operands)[0])
    return level, operands if level is None else tuple(map(level.lift, operands))


@contextmanager
def running_below(level: Level) -> Iterator[None]:
    """Only the transforms around the one that a level belongs to."""
    token = _levels.set(tuple(other for other in levels() if other.depth < level.depth))
    try:
        yield
    finally:
        _levels.reset(token)


# ---- grad and jvp -------------------------------------------------------------------------------------------------------------------


def below_grad(level: GradLevel, cls: type[Function], args: tuple[Any, ...], names: tuple[str, ...]) -> Any:
    """What the function gives for the values one level down; the caller records it."""
    values = tree_map(level.lower, args)
    with enable_grad(), level.below(), running_below(level):
        output = cls.apply_named(values, names)
    written = {id(value): x for value, x in zip(values, args, strict=True) if isinstance(x, Tensor)}
    return each(output, lambda out: written[id(out)] if id(out) in written else level.lift(out))


def below_jvp(level: JvpLevel, cls: type[Function], args: tuple[Any, ...], names: tuple[str, ...]) -> Any:
    """The values with the tangents that the user's `jvp` gives."""
    primals = tree_map(lambda x: level.unpacked(x)[0], args)
    tangents = [level.unpacked(x)[1] if isinstance(x, Tensor) else None for x in args]
    with level.below(), running_below(level):
        output = cls.apply_named(primals, names)
        ctx = FunctionCtx()
        ctx.needs_input_grad = tuple(isinstance(x, Tensor) and x.requires_grad for x in primals)
        cls.setup_context(ctx, primals, output)
        carried = tangents_from(cls, ctx, primals, tangents, output if isinstance(output, tuple) else (output,))
    written = {id(value): x for value, x in zip(primals, args, strict=True) if level_of(x) is level}
    directions = iter(carried)

    def dual(out: Any) -> Any:
        tangent = next(directions)
        if id(out) not in written:
            return wrap(Dual(level, out, tangent)) if isinstance(out, Tensor) else out
        written[id(out)]._data.tangent = tangent
        return written[id(out)]

    return each(output, dual)


def each(output: Any, function: Callable[[Any], Any]) -> Any:
    """What a function makes of every output, or of the one."""
    return tuple(map(function, output)) if isinstance(output, tuple) else function(output)


# ---- vmap ---------------------------------------------------------------------------------------------------------------------------


class VmapInfo(NamedTuple):
    """What the `vmap` of a custom function is told about the batch."""

    batch_size: int
    randomness: str


def vmapped(level: VmapLevel, cls: type[Function], args: tuple[Any, ...], names: tuple[str, ...]) -> Any:
    """Apply a custom function to a batch."""
    has_rule = cls.vmap is not Function.vmap
    if has_rule and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. Please "
            f"set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity; {MORE}"
        )
    if not has_rule and not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the vmap "
            f"staticmethod or set generate_vmap_rule=True; {MORE}"
        )
    if any(isinstance(x, Tensor) for x in args[len(args) - len(names) :]):
        raise NotImplementedError(
            "Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass kwarg-only Tensors to autograd.Function."
        )
    flat, spec = tree_flatten(args)
    pairs: list[tuple[Any, int | None]] = [level.as_given(x) for x in flat]
    if not has_rule:
        pairs = [(x, None) if dim is None else (moved_to_front(x, dim), 0) for x, dim in pairs]
    values = tree_unflatten([value for value, _ in pairs], spec)
    dims = tree_unflatten([dim for _, dim in pairs], spec)
    with running_below(level):
        if has_rule:
            found = cls.vmap(VmapInfo(level.size, level.randomness), dims, *values)
        else:
            output = generated(cls).apply(Batch(level.size, level.randomness, dims, names), *values)
            found = output, each(output, lambda out: 0 if isinstance(out, Tensor) else None)
    written = {id(value): x for x, (value, dim) in zip(flat, pairs, strict=True) if dim is not None}
    return batched_outputs(level, *checked(found), written)


def checked(found: Any) -> tuple[Any, list[Any]]:
    """What a user's rule returned: the outputs, and for each leaf of them the place of the batch."""
    if not isinstance(found, tuple) or len(found) != 2:
        got = f"{len(found)} returns" if isinstance(found, tuple) else f"a {type(found)}"
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with the output. "
            f"Got {got} instead"
        )
    output, out_dims = found
    dims = broadcast_prefix(out_dims, output)
    if dims is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`: give a number or None for each output"
        )
    return output, dims


def batched_outputs(level: VmapLevel, output: Any, dims: list[Any], written: dict[int, Tensor]) -> Any:
    """The outputs as tensors of the level. One that is an argument, written to in place, stays that argument."""
    leaves, spec = tree_flatten(output)

    def batched(x: Any, dim: int | None) -> Any:
        if dim is None or not isinstance(x, Tensor):
            return x
        return written[id(x)] if id(x) in written else wrap(Batched(level, moved_to_front(x, dim % x.ndim)))

    return tree_unflatten(map(batched, leaves, dims), spec)


# ---- a rule made from the parts of the function -------------------------------------------------------------------------------------


class Batch(NamedTuple):
    """How a generated function was called: its first argument."""

    size: int
    randomness: str
    dims: tuple[Any, ...]  # for each argument 0 or None: whether it is batched
    names: tuple[str, ...]  # of the last arguments

    @contextmanager
    def running(self) -> Iterator[VmapLevel]:
        level = VmapLevel(self.size, self.randomness)
        with opened(level, get_mode()):
            yield level

    def dressed(self, level: VmapLevel, values: Sequence[Any]) -> tuple[Any, ...]:
        """Arguments, or what belongs to them, as the user's code sees them."""
        return tuple(
            tree_map(lambda x, dim: x if dim is None or x is None else wrap(Batched(level, x)), value, dims)
            for value, dims in zip(values, self.dims, strict=True)
        )


def dressed_output(level: VmapLevel, x: Any) -> Any:
    return wrap(Batched(level, x)) if isinstance(x, Tensor) else x


def whole(level: VmapLevel, x: Any) -> Any:
    """The batch of a result; all examples have one of their own."""
    if not isinstance(x, Tensor):
        return x
    return x._data.value if level_of(x) is level else level.dressed(x)._data.value


class Kept:
    """A tensor without the batch that it belongs to, which ends before the tensor is needed."""

    __slots__ = ("value",)

    def __init__(self, value: Tensor) -> None:
        self.value = value


class Store:
    """What a generated function keeps on its context besides saved tensors."""

    def __init__(self, batch: Batch, shapes: tuple[Any, ...]) -> None:
        self.batch = batch
        self.shapes = shapes  # of the arguments of one example
        self.attributes: dict[str, Any] = {}  # what the user stored
        self.saved: list[bool] = []  # whether what is saved is batched
        self.saved_for_forward: list[bool] = []


class BatchCtx:
    """The `ctx` that the user's code gets: it takes and gives tensors of the batch that is running, and keeps them without it."""

    def __init__(self, ctx: Any, level: VmapLevel) -> None:
        self.__dict__.update(_ctx=ctx, _level=level, _store=ctx.store)

    def _kept(self, tensors: Sequence[Any], flags: list[bool]) -> list[Any]:
        flags[:] = [level_of(x) is self._level for x in tensors]
        return [x._data.value if is_batched else x for x, is_batched in zip(tensors, flags, strict=True)]

    def save_for_backward(self, *tensors: Any) -> None:
        self._ctx.save_for_backward(*self._kept(tensors, self._store.saved))

    def save_for_forward(self, *tensors: Any) -> None:
        self._ctx.save_for_forward(*self._kept(tensors, self._store.saved_for_forward))

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        flags = self._store.saved_for_forward if self._ctx.saved_for_forward else self._store.saved
        return tuple(
            wrap(Batched(self._level, x)) if is_batched else x for x, is_batched in zip(self._ctx.saved_tensors, flags, strict=False)
        )

    @property
    def saved_for_forward(self) -> Any:
        return self._ctx.saved_for_forward

    def mark_dirty(self, *tensors: Any) -> None:
        self._ctx.mark_dirty(*self._kept(tensors, []))

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._ctx.mark_non_differentiable(*self._kept(tensors, []))

    def set_materialize_grads(self, value: bool) -> None:
        self._ctx.set_materialize_grads(value)

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        return tuple(self._ctx.needs_input_grad[1:])

    def __setattr__(self, name: str, value: Any) -> None:
        if any(level_of(x) is self._level for x in tree_flatten(value)[0]):
            value = tree_map(lambda x: Kept(x._data.value) if level_of(x) is self._level else x, value)
        self._store.attributes[name] = value

    def __getattr__(self, name: str) -> Any:
        attributes = self._store.attributes
        if name not in attributes:
            return getattr(self._ctx, name)
        value = attributes[name]
        if any(isinstance(x, Kept) for x in tree_flatten(value)[0]):
            return tree_map(lambda x: wrap(Batched(self._level, x.value)) if isinstance(x, Kept) else x, value)
        return value


def generated(cls: type[Function]) -> type[Function]:
    """The custom function that does for a batch what `cls` does for an example. Made once for each class."""
    found = cls.__dict__.get("_generated")
    if found is None:
        found = type(f"Vmapped{cls.__name__}", (Generated,), {"generate_vmap_rule": True, **parts(cls)})
        cls._generated = found  # type: ignore[attr-defined]
    return found


class Generated(Function):
    """Base of the functions that are made here."""


def parts(cls: type[Function]) -> dict[str, Any]:
    """The static methods of a generated function: those of the user's, inside a batch of their own."""

    def forward(batch: Batch, *args: Any) -> Any:
        with batch.running() as level:
            given = batch.dressed(level, args)
            positional = len(given) - len(batch.names)
            output = cls.forward(*given[:positional], **dict(zip(batch.names, given[positional:], strict=True)))
            return each(output, lambda out: whole(level, out))

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        batch, *args = inputs
        with batch.running() as level:
            given = batch.dressed(level, args)
            ctx.store = Store(batch, tuple(x.shape if isinstance(x, Tensor) else None for x in given))
            cls.setup_context(BatchCtx(ctx, level), given, each(output, lambda out: dressed_output(level, out)))

    def backward(ctx: Any, *grads: Any) -> Any:
        store = ctx.store
        with store.batch.running() as level:
            results = cls.pull_back(BatchCtx(ctx, level), [dressed_output(level, g) for g in grads])
            results = results if isinstance(results, tuple) else (results,)
            pulled = [fitted(level, g, shape) for g, shape in zip(results, store.shapes, strict=False)]
            pulled += results[len(pulled) :]
        return None, *(
            g.sum(0) if isinstance(g, Tensor) and dim is None else g for g, dim in zip(pulled, store.batch.dims, strict=False)
        )

    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        batch = ctx.store.batch
        with batch.running() as level:
            return each(cls.jvp(BatchCtx(ctx, level), *batch.dressed(level, tangents)), lambda t: whole(level, t))

    return {name: staticmethod(part) for name, part in (
        ("forward", forward), ("setup_context", setup_context), ("backward", backward), ("jvp", jvp),
    )}  # fmt: skip


def fitted(level: VmapLevel, g: Any, shape: tuple[int, ...] | None) -> Any:
    """The gradients of all examples for an argument, each summed to its shape where it was broadcast."""
    if isinstance(g, Tensor) and shape is not None and g.shape != shape and expands_to(shape, g.shape):
        g = sum_to(g, shape)
    return whole(level, g)
