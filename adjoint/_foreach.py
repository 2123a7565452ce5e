"""PyTorch's `torch._foreach_*`: an operation on each tensor of a list, for optimizers.

One table says what each takes besides the list. The op is called for one tensor after the other, which takes half a microsecond per tensor.
A compiled pass over all of them, as the optimizers here make, takes longer, because it first has to find where they lie. What makes those
optimizers fast is that their whole formula is one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import repeat
from typing import Any

import numpy as np

from ._tensor import Parameter, Tensor
from .linalg import vector_norm
from .ops._registry import FUNCTIONS

Tensors = Sequence[Tensor]
UNSET: Any = object()  # an argument that was not given
Given = Any  # a number, numbers, a tensor without dimensions, or tensors

PLAIN = frozenset((Tensor, Parameter))
LISTS = list, tuple
UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign "
    "sin sinh sqrt tan tanh trunc"
).split()
WITH_ALPHA = "add sub".split()
BINARY = "mul div maximum minimum clamp_min clamp_max".split()
TERNARY = "addcmul addcdiv".split()

# ---- arguments ----------------------------------------------------------------------------------------------------------------------


def tensors_in(name: str, value: Any, position: int = 1, argument: str = "self") -> Tensors:
    """The list that a function is called with, or another one."""
    if not isinstance(value, LISTS):
        raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be tuple of Tensors, not {type(value).__name__}")
    if not PLAIN.issuperset(map(type, value)):
        for place, item in enumerate(value):
            if not isinstance(item, Tensor):
                raise TypeError(f"expected Tensor as element {place} in argument {position - 1}, but got {type(item).__name__}")
    if not value:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return value


def others_in(name: str, tensors: Tensors, value: Any, position: int, argument: str) -> Tensors:
    found = tensors_in(name, value, position, argument)
    if len(found) != len(tensors):
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(found)}")
    return found


def one_for_each(name: str, tensors: Tensors, value: Given, packed: bool = False) -> Iterable[Any]:
    """What goes with each tensor: the same number, or one of a list of numbers or tensors; `packed` numbers may be one tensor."""
    if value.__class__ is float or value.__class__ is int:
        return repeat(value)
    if isinstance(value, Tensor):
        if not packed:
            if value.ndim:
                size = f"{value.ndim} dimensions and {value.numel()} elements"
                raise RuntimeError(f"scalar tensor expected to be 0 dim but it has {size}.")
            return repeat(value)
        if value.ndim != 1:
            raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {value.ndim} instead.")
        if len(value) != len(tensors):
            raise RuntimeError(f"Expected length of scalars to match input of length {len(tensors)} but got {len(value)} instead.")
        return value.tolist()  # type: ignore[no-any-return]
    if isinstance(value, LISTS):
        if value and isinstance(value[0], Tensor):
            return others_in(name, tensors, value, 2, "other")
        if len(value) != len(tensors):
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        return value
    if not isinstance(value, int | float | complex | np.generic):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got (list, {type(value).__name__}), but expected a number, a list of "
            "numbers, a tensor without dimensions or a list of tensors beside the list"
        )
    return repeat(value)


def the_one(name: str, **given: Any) -> Any:
    """The value of an argument that has several names, where it is not given by the first one alone."""
    found = [value for value in given.values() if value is not UNSET]
    if len(found) != 1:
        raise TypeError(f"{name}() received an invalid combination of arguments: give one of {', '.join(given)}")
    return found[0]


# ---- running ------------------------------------------------------------------------------------------------------------------------


def run(name: str, writes: bool, tensors: Tensors, *columns: Iterable[Any], **options: Any) -> Any:
    """The op on each tensor, with what goes with it."""
    results = loop(name, writes, len(columns), *options)(tensors, *columns, *options.values())
    return tensors if writes else tuple(results)


@cache
def loop(name: str, writes: bool, columns: int, *options: str) -> Callable[..., Any]:
    """The loop over the tensors, written out: Python calls a Python function faster from there than from `map`."""
    each = [f"a{place}" for place in range(columns)]
    lists = ["tensors", *(f"{one}_each" for one in each)]
    arguments = ", ".join([*each, *(f"{option}={option}" for option in options)])
    items = f"{', '.join(['x', *each])} in {f'zip({chr(44).join(lists)})' if each else 'tensors'}"
    if not writes:
        body = f"return [function(x, {arguments}) for {items}]"
    elif hasattr(Tensor, f"{name}_"):
        body = f"for {items}: x.{name}_({arguments})"
    else:
        body = f"for {items}: x.copy_(function(x, {arguments}))"
    namespace: dict[str, Any] = {"function": FUNCTIONS.get(name)}
    exec(f"def loop({', '.join([*lists, *options])}):\n    {body}", namespace)
    return namespace["loop"]  # type: ignore[no-any-return]


# ---- the functions ------------------------------------------------------------------------------------------------------------------


def unary(name: str, full: str, writes: bool) -> Callable[..., Any]:
    def function(self: Tensors) -> Any:
        return run(name, writes, tensors_in(full, self))

    return function


def binary(name: str, full: str, writes: bool) -> Callable[..., Any]:
    for_numbers = {"maximum": "clamp_min", "minimum": "clamp_max"}.get(name)  # of which ops take tensors only

    def function(self: Tensors, other: Given = UNSET, *, scalar: Any = UNSET, scalars: Any = UNSET) -> Any:
        tensors = tensors_in(full, self)
        if other is UNSET or scalar is not UNSET or scalars is not UNSET:
            other = the_one(full, other=other, scalar=scalar, scalars=scalars)
        beside = one_for_each(full, tensors, other)
        if for_numbers and not isinstance(other[0] if isinstance(other, LISTS) else other, Tensor):
            return run(for_numbers, writes, tensors, beside)
        return run(name, writes, tensors, beside)

    return function


def with_alpha(name: str, full: str, writes: bool) -> Callable[..., Any]:
    plain = binary(name, full, writes)

    def function(self: Tensors, other: Given = UNSET, *, scalar: Any = UNSET, scalars: Any = UNSET, alpha: Any = 1) -> Any:
        if alpha == 1:
            return plain(self, other, scalar=scalar, scalars=scalars)
        tensors = tensors_in(full, self)
        if not isinstance(other, (Tensor, *LISTS)):
            raise TypeError(f"{full}() received an invalid combination of arguments - 'alpha' is for tensors; multiply the number by it")
        beside = one_for_each(full, tensors, other) if isinstance(other, Tensor) else others_in(full, tensors, other, 2, "other")
        return run(name, writes, tensors, beside, alpha=alpha)

    return function


def ternary(name: str, full: str, writes: bool) -> Callable[..., Any]:
    def function(self: Tensors, tensor1: Tensors, tensor2: Tensors, value: Given = UNSET, scalars: Given = UNSET) -> Any:
        tensors = tensors_in(full, self)
        first = others_in(full, tensors, tensor1, 2, "tensor1")
        second = others_in(full, tensors, tensor2, 3, "tensor2")
        factor = 1 if value is UNSET and scalars is UNSET else the_one(full, value=value, scalars=scalars)
        return run(name, writes, tensors, first, second, one_for_each(full, tensors, factor, packed=True))

    return function


def lerp(name: str, full: str, writes: bool) -> Callable[..., Any]:
    def function(self: Tensors, tensors1: Tensors, weight: Given = UNSET, weights: Given = UNSET) -> Any:
        tensors = tensors_in(full, self)
        ends = others_in(full, tensors, tensors1, 2, "tensors1")
        if weight is UNSET or weights is not UNSET:
            weight = the_one(full, weight=weight, weights=weights)
        return run(name, writes, tensors, ends, one_for_each(full, tensors, weight))

    return function


def power(name: str, full: str, writes: bool) -> Callable[..., Any]:
    def function(self: Any, exponent: Given) -> Any:
        if not writes and isinstance(self, int | float | complex):
            exponents = tensors_in(full, exponent, 2, "exponent")
            return tuple(FUNCTIONS[name](self, x) for x in exponents)
        tensors = tensors_in(full, self)
        return run(name, writes, tensors, one_for_each(full, tensors, exponent))

    return function


def named(full: str, function: Callable[..., Any], doc: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = full
    function.__doc__ = doc
    return function


def both_forms(names: Iterable[str], make: Callable[[str, str, bool], Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    made = {}
    for name in names:
        for full, writes in ((f"_foreach_{name}", False), (f"_foreach_{name}_", True)):
            where = ", written into the tensors themselves" if writes else ""
            made[full] = named(full, make(name, full, writes), f"`torch.{name}` of each tensor of a list{where}.")
    return made


globals().update(
    both_forms(UNARY, unary) | both_forms(BINARY, binary) | both_forms(WITH_ALPHA, with_alpha) | both_forms(TERNARY, ternary)
    | both_forms(["lerp"], lerp) | both_forms(["pow"], power)
)  # fmt: skip


def _foreach_clone(self: Tensors, *, memory_format: Any = None) -> tuple[Tensor, ...]:
    """A copy of each tensor."""
    return tuple(x.clone(memory_format=memory_format) for x in tensors_in("_foreach_clone", self))


def _foreach_copy_(self: Tensors, src: Tensors, non_blocking: bool = False) -> Tensors:
    """Write into each tensor the elements of another one."""
    tensors = tensors_in("_foreach_copy_", self)
    return run("copy", True, tensors, others_in("_foreach_copy_", tensors, src, 2, "src"))  # type: ignore[no-any-return]


def _foreach_zero_(self: Tensors) -> Tensors:
    """Write zeros into each tensor."""
    return run("zero", True, tensors_in("_foreach_zero_", self))  # type: ignore[no-any-return]


def _foreach_mm(self: Tensors, mat2: Tensors) -> tuple[Tensor, ...]:
    """The product of each matrix with another one."""
    tensors = tensors_in("_foreach_mm", self)
    return run("mm", False, tensors, others_in("_foreach_mm", tensors, mat2, 2, "mat2"))  # type: ignore[no-any-return]


def _foreach_max(self: Tensors) -> tuple[Tensor, ...]:
    """The largest element of each tensor."""
    for x in tensors_in("_foreach_max", self):
        if not x.numel():
            raise RuntimeError("_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is undefined.")
    return tuple(x.max() for x in self)


def _foreach_norm(self: Tensors, ord: float = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """The norm of each tensor."""
    for x in tensors_in("_foreach_norm", self):
        if not x.numel() and ord == float("inf"):
            raise RuntimeError(
                "_foreach_norm cannot compute the infinity norm on an empty tensor because the operation does not have an identity"
            )
    return tuple(vector_norm(x, ord, dtype=dtype) for x in self)


def _foreach_powsum(self: Tensors, ord: float = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """The sum of the powers of each tensor's absolute values."""
    return tuple(x.abs().pow(ord).sum(dtype=dtype) for x in tensors_in("_foreach_powsum", self))
