"""`__torch_dispatch__` on classes: tensors that answer for the ops below autograd, and tensors that only wrap others.

An op on such a tensor is answered by its class, with gradients off; then its history is recorded as ever, so that derivatives are those of
the op itself. A wrapper has a shape and a dtype and no elements. What flows back through it has to be tensors, whose ops the class sees
again, instead of arrays: once a wrapper has been recorded, backward passes compute with tensors (`autograd/differentiate.py`).

Nobody else pays: ops look here only if an operand is of a class of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any

from . import _meta
from ._copying import attributes_of, slots_of
from ._device import resolve
from ._dtype import as_numpy_dtype
from ._layout import strided
from ._methods import OpMethods
from ._overriding import DisableTorchFunctionSubclass, _members
from ._site import is_users
from ._state import GRAD, swap_bits
from ._tensor import T, Tensor, _require_grad, new
from ._watching import op_name
from .autograd import differentiate
from .autograd.views import counter_of
from .ops._recording import finish
from .ops.advanced_index import as_tensors

_off: ContextVar[bool] = ContextVar("adjoint_class_dispatch_off", default=False)


class WrapperArray(_meta.MetaArray):
    """What a wrapper has in the place of an array: the facts about one that is on a device."""

    __slots__ = ("device", "twin")

    def __init__(self, ghost: Any, device: str) -> None:
        super().__init__(ghost)
        self.device = device
        self.twin: Twin | None = None

    @staticmethod
    def alias(tensor: Any) -> Any:
        """The same wrapper as another object, without its history."""
        return Twin(tensor).shallow_copy()


class SharedName:
    """An attribute that a library's class and Tensor call by the same name, `_data`. Who asks from within adjoint means Tensor's."""

    def __init__(self, name: str) -> None:
        self.name, self.slot = name, vars(Tensor)[name]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        if self.name in instance.__dict__ and is_users(sys._getframe(1)):
            return instance.__dict__[self.name]
        return self.slot.__get__(instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        if is_users(sys._getframe(1)):
            instance.__dict__[self.name] = value
        else:
            self.slot.__set__(instance, value)


class Twin:
    """A wrapper without its history, for the node that keeps the wrapper, which is its own result."""

    def __init__(self, tensor: Any) -> None:
        self.cls, self.data = type(tensor), WrapperArray(tensor._data._ghost, tensor._data.device)
        self.attributes, self.slots = attributes_of(tensor), slots_of(tensor)

    def shallow_copy(self) -> Any:
        made = new(self.cls)
        made._data, made._vc, made._fn = self.data, None, None
        made.__dict__.update(self.attributes)
        for name, value in self.slots.items():
            object.__setattr__(made, name, value)
        return made


def make_subclass(cls: type[T], data: Tensor, requires_grad: bool) -> T:
    """An object of a class derived from Tensor, on the memory of another tensor, without its history."""
    made = new(cls)
    made._data = data._data
    made._vc = counter_of(data)
    made._fn = None
    if requires_grad:
        _require_grad(made)
    return made


def make_wrapper(
    cls: Any, size: Any, strides: Any = None, storage_offset: Any = None, memory_format: Any = None, dtype: Any = None,
    layout: Any = strided, device: Any = None, pin_memory: bool = False, requires_grad: bool = False, **policies: Any,
) -> Any:  # fmt: skip
    """An object of a class derived from Tensor that has these facts and no elements."""
    if not dispatches(cls):
        raise RuntimeError(
            f"{cls.__name__}: a class whose objects only wrap tensors has to define __torch_dispatch__(cls, func, types, args=(), "
            "kwargs=None)"
        )
    shape = tuple(map(int, size))
    kind = as_numpy_dtype(dtype)
    ghost = _meta.empty(shape, kind)._ghost
    if strides is not None:
        from numpy.lib.stride_tricks import as_strided

        ghost = as_strided(ghost, shape, [int(step) * kind.itemsize for step in strides])
    made = new(cls)
    made._data = WrapperArray(ghost, "cpu" if device is None else resolve(device).type)
    made._vc = made._fn = None
    if requires_grad:
        made._set_requires_grad(True)
    return made


def marked_parameter(data: Any, requires_grad: bool) -> Any:
    """A Parameter made of an object of a class derived from Tensor: one of that class, with a mark."""
    found = data.detach()._set_requires_grad(requires_grad)
    if type(found) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an instance of the same "
            f"type, but return type {type(found).__name__} was found instead. To use the type as a Parameter, please correct the detach() "
            "semantics defined by its __torch_dispatch__() implementation."
        )
    found._is_param = True
    return found


def dispatches(cls: type) -> bool:
    """Whether objects of a class see the ops that they are given to."""
    found = getattr(cls, "__torch_dispatch__", None)
    return found is not None and getattr(found, "__func__", found) is not disabled_torch_dispatch


def disabled_torch_dispatch(func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The op on the elements that the tensors themselves have: what a class calls for those it does not change."""
    token = _off.set(True)
    try:
        with DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))
    finally:
        _off.reset(token)


def seeing(values: Sequence[Any]) -> list[type]:
    """The classes among operands, also inside lists, that see ops: the most derived first."""
    found: list[type] = []
    for value in values:
        for x in value if value.__class__ in (list, tuple) else (value,):
            cls = x.__class__
            if cls not in found and isinstance(x, Tensor) and dispatches(cls):
                place = next((place for place, other in enumerate(found) if issubclass(cls, other)), len(found))
                found.insert(place, cls)
    return found


def answer(name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], declaration: Any = None) -> Any:
    """What the classes of the operands make of an op; NotImplemented if none of them sees ops."""
    if _off.get():
        return NotImplemented
    classes = seeing((*args, *kwargs.values()))
    if not classes:
        return NotImplemented
    from ._ops import own_op

    op = func if hasattr(func, "overloadpacket") else own_op(name, func, declaration)
    bits = swap_bits(GRAD, 0)
    try:
        with DisableTorchFunctionSubclass():
            for cls in classes:
                own = getattr(op, "dispatches", {}).get(cls)
                handler: Any = cls.__torch_dispatch__ if own is None else partial(own, cls)  # type: ignore[attr-defined]
                result = handler(op, tuple(classes), args, kwargs)
                if result is not NotImplemented:
                    return result
    finally:
        swap_bits(GRAD, bits)
    raise TypeError(
        f"Multiple dispatch failed for 'torch.ops.{op}'; all __torch_dispatch__ handlers returned NotImplemented: "
        f"{', '.join(cls.__name__ for cls in classes)}"
    )


def run_op(op: Any, func: Any, args: tuple[Any, ...], operands: Sequence[Any]) -> Any:
    """The answer for an op that was called with `args` in the order of its signature, with its history."""
    cut = len(op.args) - len(op.keywords)
    defaults = op.default_values()
    positional = list(args[:cut])
    names = list(op.args[:cut])
    while positional and names[-1] in defaults and positional[-1] is defaults[names[-1]]:
        positional.pop()
        names.pop()
    keywords = {name: value for name, value in zip(op.args[cut:], args[cut:], strict=True) if value is not defaults.get(name)}
    inplace = func is not op.function
    if op.name in PARTS:
        result = answer_in_steps(*args)
    elif op.name == "index":
        result = answer_index(*args)
    else:
        result = answer(op_name(op) + ("_" if inplace else ""), func, tuple(positional), keywords, op)
    if result is NotImplemented or inplace:
        return result
    made = tuple(result) if op.several and isinstance(result, tuple | list) else (result,)
    if all(isinstance(x, Tensor) for x in made) and not any(x is y for x in made for y in operands):
        if op.differentiable and any(isinstance(x, Tensor) and x.requires_grad for x in operands):
            differentiate.through_tensors = True
            values = dict(zip(op.args, args, strict=True))
            bases = [x for x in operands if isinstance(x, Tensor)]
            for x in made:
                if wraps(x):
                    x._data.twin = Twin(x)
            finish(without_view(op) if any(wraps(x) for x in (*bases, *made)) else op, list(operands), values, made)
    return result


PARTS = ("select_part", "slice_part", "unsqueeze_part")  # the ops of basic indices (ops/parts.py)
LAST = 2**63 - 1  # where PyTorch lets a slice end that has no end


def view_steps(ndim: int, index: tuple[Any, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """A basic index as the ops by which PyTorch takes it, one item after the other: their names and arguments."""
    rest = ndim - sum(item is not None and item is not Ellipsis for item in index)
    dim = 0  # of the result so far
    changed = False
    for item in index:
        if item is Ellipsis:
            dim += rest
            continue
        if item is None:
            yield "unsqueeze", (dim,)
        elif not isinstance(item, slice):
            yield "select", (dim, int(item))
        elif item != slice(None):
            step = () if item.step in (None, 1) else (item.step,)
            yield "slice", (dim, item.start or 0, LAST if item.stop is None else item.stop, *step)
        changed = changed or item != slice(None)
        dim += item is None or isinstance(item, slice)
    if not changed:
        yield "alias", ()


def answer_in_steps(x: Any, index: tuple[Any, ...]) -> Any:
    """The answer for a basic index, which is one op here and several in PyTorch."""
    from ._ops import function_named

    result = x
    for name, arguments in view_steps(x.ndim, index):
        function = function_named(name)
        made = answer(name, function, (result, *arguments), {})
        if made is NotImplemented and result is x:
            return made
        result = function(result, *arguments) if made is NotImplemented else made
    return result


def answer_index(x: Any, indices: Sequence[Any]) -> Any:
    """The answer for an index with tensors in it: the class gets tensors, and None for a whole dimension."""
    from ._ops import function_named

    return answer("index", function_named("index"), (x, as_tensors(indices)), {})


def wraps(x: Tensor) -> bool:
    return x._data.__class__ is WrapperArray


def without_view(op: Any) -> Any:
    """An op as recorded of wrappers, which share no memory: its results are no views."""
    if not op.view:
        return op
    from copy import copy

    plain = copy(op)
    plain.view = False
    return plain


def answer_like(name: str, x: Tensor, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The answer for a function that makes a tensor like a wrapper: `zeros_like`, `full_like`, ..."""
    from ._ops import function_named

    given = {key: value for key, value in options.items() if value}
    return answer(name, function_named(name), (x, *args), given)


# ---- what is no op, and is to be seen ------------------------------------------------------------------------------------------------


def seen(name: str) -> Callable[..., Any]:
    """A method of Tensor that asks the class first."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        from ._ops import function_named

        member = getattr(Tensor, name)
        result = answer(name, function_named(name), (self, *args), kwargs)
        return member(self, *args, **kwargs) if result is NotImplemented else result

    method.__name__ = method.__qualname__ = name
    method.__doc__ = getattr(Tensor, name).__doc__
    return method


METHODS = (
    "detach", "new_empty", "new_zeros", "new_ones", "new_full", "contiguous", "cpu", "copy_", "fill_", "zero_", "bernoulli_", "cauchy_",
    "exponential_", "geometric_", "log_normal_", "normal_", "random_", "uniform_",
)  # fmt: skip


def derive(cls: Any) -> None:
    """Give a class that sees ops methods that ask it, in the place of those that compute without ops."""
    cls._data = SharedName("_data")
    for name in METHODS:
        owner = next(base for base in cls.__mro__ if name in vars(base))
        if owner in (Tensor, OpMethods) or vars(owner)[name] is _members.get(name):  # it is none of the class's own
            setattr(cls, name, seen(name))
