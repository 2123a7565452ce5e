"""PyTorch's `torch.testing`: whether values are as close as their dtypes let them be."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np

from ._dtype import complex128, dtype, finfo, float64, iinfo, int64, promote_types
from ._from_data import as_tensor, tensor
from ._layout import sparse_coo, strided
from ._tensor import Tensor, wrap
from .ops._registry import FUNCTIONS

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

_TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "complex64": (1.3e-6, 1e-5),
               "float64": (1e-7, 1e-7), "complex128": (1e-7, 1e-7)}  # fmt: skip
_NUMBERS = {int: int64, float: float64, complex: complex128}
Message = str | Callable[[str], str] | None


class _FailureError(Exception):
    """What is wrong, and with which item."""

    def __init__(self, error: type[Exception], text: str, item: tuple[Any, ...]) -> None:
        self.error, self.text, self.item = error, text, item

    def raised(self, message: Message = None) -> Exception:
        if isinstance(message, str):
            return self.error(message)
        place = "".join(str([key]) for key in self.item)
        text = f"{self.text}\n\nThe failure occurred for item {place}" if self.item else self.text
        return self.error(message(text) if message is not None else text)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Raise AssertionError unless `actual` is close to `expected`: tensors, arrays, numbers, and sequences and mappings of them.

    >>> import adjoint as ad
    >>> ad.testing.assert_close(ad.tensor([1.0, 2.0]), ad.tensor([1.0, 2.0 + 1e-7]))
    """
    __tracebackhide__ = True
    comparison = _Comparison(rtol, atol, equal_nan, allow_subclasses, check_device, check_dtype, check_layout, check_stride)
    try:
        comparison.collect(actual, expected, ())  # all of it, before the first value is looked at
    except _FailureError as failure:
        raise failure.raised() from None
    try:
        for compare, *pair in comparison.pairs:
            compare(*pair)
    except _FailureError as failure:
        raise failure.raised(msg) from None


class _Comparison:
    """Pairs of values, and how close they have to be."""

    def __init__(
        self, rtol: float | None, atol: float | None, equal_nan: bool, subclasses: bool, device: bool, dtypes: bool, layout: bool,
        stride: bool,
    ) -> None:  # fmt: skip
        self.rtol, self.atol, self.equal_nan, self.subclasses = rtol, atol, equal_nan, subclasses
        self.device, self.dtypes, self.layout, self.stride = device, dtypes, layout, stride
        self.pairs: list[Any] = []

    def collect(self, actual: Any, expected: Any, item: tuple[Any, ...]) -> None:
        if all(isinstance(x, Sequence) and not isinstance(x, str) for x in (actual, expected)):
            if len(actual) != len(expected):
                raise _FailureError(AssertionError, f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", item)
            for place in range(len(actual)):
                self.collect(actual[place], expected[place], (*item, place))
        elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
            self._collect_mappings(actual, expected, item)
        elif actual is None or expected is None:
            self.pairs.append((self._none, actual, expected, item))
        elif all(isinstance(x, bool | np.bool_) for x in (actual, expected)):
            self.pairs.append((self._bools, bool(actual), bool(expected), item))
        elif all(isinstance(x, int | float | complex | np.number) for x in (actual, expected)):
            numbers = [x.item() if isinstance(x, np.number) else x for x in (actual, expected)]
            self.pairs.append((self._numbers, *numbers, self._tolerances([_NUMBERS[type(x)] for x in numbers], item), item))
        else:
            self._collect_tensors(actual, expected, item)

    def _collect_mappings(self, actual: Any, expected: Any, item: tuple[Any, ...]) -> None:
        if actual.keys() != expected.keys():
            missing, additional = expected.keys() - actual.keys(), actual.keys() - expected.keys()
            raise _FailureError(
                AssertionError,
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(missing)}\nAdditional keys in the actual mapping: {sorted(additional)}",
                item,
            )
        keys: Any = list(actual)
        with suppress(TypeError):
            keys = sorted(keys)
        for key in keys:
            self.collect(actual[key], expected[key], (*item, key))

    def _collect_tensors(self, actual: Any, expected: Any, item: tuple[Any, ...]) -> None:
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not related or (not self.subclasses and type(actual) is not type(expected)):
            self._refuse(actual, expected, item)
        try:
            pair = [x if isinstance(x, Tensor) else as_tensor(x) for x in (actual, expected)]
        except (TypeError, ValueError, RuntimeError):
            self._refuse(actual, expected, item)
        self.pairs.append((self._tensors, *pair, self._tolerances([x.dtype for x in pair], item), item))

    def _refuse(self, actual: Any, expected: Any, item: tuple[Any, ...]) -> NoReturn:
        raise _FailureError(
            TypeError, f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.", item
        ) from None

    def _tolerances(self, kinds: list[dtype], item: tuple[Any, ...]) -> tuple[float, float]:
        if (self.rtol is None) != (self.atol is None):
            missing = "rtol" if self.rtol is None else "atol"
            raise _FailureError(ValueError, f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.", item)
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        return _default_tolerances(kinds, _TOLERANCES)

    # ---- one pair -----------------------------------------------------------------------------------------------------------------

    def _none(self, actual: Any, expected: Any, item: tuple[Any, ...]) -> None:
        if actual is not expected:
            raise _FailureError(AssertionError, f"None mismatch: {actual} is not {expected}", item)

    def _bools(self, actual: bool, expected: bool, item: tuple[Any, ...]) -> None:
        if actual is not expected:
            raise _FailureError(AssertionError, f"Booleans mismatch: {actual} is not {expected}", item)

    def _numbers(self, actual: Any, expected: Any, tolerances: tuple[float, float], item: tuple[Any, ...]) -> None:
        if self.dtypes and type(actual) is not type(expected):
            raise _FailureError(AssertionError, f"The (d)types do not match: {type(actual)} != {type(expected)}.", item)
        if actual == expected or (self.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
            return
        difference = abs(actual - expected)
        if not (cmath.isfinite(difference) and difference <= tolerances[1] + tolerances[0] * abs(expected)):
            raise _FailureError(AssertionError, _scalars_differ("Scalars", actual, expected, *tolerances), item)

    def _tensors(self, actual: Tensor, expected: Tensor, tolerances: tuple[float, float], item: tuple[Any, ...]) -> None:
        facts: list[Any] = [("shape", actual.shape, expected.shape)]
        if self.layout or actual.layout is expected.layout:
            facts.append(("layout", actual.layout, expected.layout))
        if self.stride and actual.layout is expected.layout is strided:
            facts.append(("stride()", actual.stride(), expected.stride()))
        facts += [("device", actual.device, expected.device)] if self.device else []
        facts += [("dtype", actual.dtype, expected.dtype)] if self.dtypes else []
        for name, mine, other in facts:
            if mine != other:
                raise _FailureError(AssertionError, f"The values for attribute '{name}' do not match: {mine} != {other}.", item)
        if actual.is_meta or expected.is_meta:
            return
        actual, expected = (x.detach() for x in (actual, expected))
        if actual.dtype is not expected.dtype:
            kinds = [int64 if x.dtype.name in ("uint16", "uint32", "uint64") else x.dtype for x in (actual, expected)]
            actual, expected = (x.to(promote_types(*kinds)) for x in (actual, expected))
        if actual.layout is expected.layout is sparse_coo:
            self._sparse(actual, expected, tolerances, item)
        elif actual.layout is expected.layout is not strided:
            self._compressed(actual, expected, tolerances, item)
        else:
            actual, expected = (x if x.layout is strided else x.to_dense() for x in (actual, expected))
            self._values("", actual, expected, tolerances, item)

    def _compressed(self, actual: Any, expected: Any, tolerances: tuple[float, float], item: tuple[Any, ...]) -> None:
        kind = str(actual.layout).removeprefix("torch.sparse_").upper()
        if actual._nnz() != expected._nnz():
            text = f"The number of specified values in sparse {kind} tensors does not match: {actual._nnz()} != {expected._nnz()}"
            raise _FailureError(AssertionError, text, item)
        for name, mine in actual._data.pattern.parts().items():
            self._values(f"Sparse {kind} {name}", wrap(mine), wrap(expected._data.pattern.parts()[name]), (0.0, 0.0), item)
        self._values(f"Sparse {kind} values", actual.values(), expected.values(), tolerances, item)

    def _sparse(self, actual: Any, expected: Any, tolerances: tuple[float, float], item: tuple[Any, ...]) -> None:
        facts = (
            ("The number of sparse dimensions in sparse COO tensors does not match", actual.sparse_dim(), expected.sparse_dim()),
            ("The number of specified values in sparse COO tensors does not match", actual._nnz(), expected._nnz()),
        )
        for text, mine, other in facts:
            if mine != other:
                raise _FailureError(AssertionError, f"{text}: {mine} != {other}", item)
        self._values("Sparse COO indices", actual._indices(), expected._indices(), (0.0, 0.0), item)
        self._values("Sparse COO values", actual._values(), expected._values(), tolerances, item)

    def _values(self, name: str, actual: Tensor, expected: Tensor, tolerances: tuple[float, float], item: tuple[Any, ...]) -> None:
        rtol, atol = tolerances
        matches = FUNCTIONS["isclose"](actual, expected, rtol=rtol, atol=atol, equal_nan=self.equal_nan)
        if matches.all():
            return
        if not actual.shape:
            text = _scalars_differ(name or "Scalars", actual.item(), expected.item(), rtol, atol)
        else:
            text = _tensors_differ(name or "Tensor-likes", actual, expected, matches, rtol, atol)
        raise _FailureError(AssertionError, text, item)


def _default_tolerances(kinds: list[dtype], known: dict[str, tuple[float, float]]) -> tuple[float, float]:
    """The loosest of those of the dtypes."""
    found = [known.get(kind.name, (0.0, 0.0)) for kind in kinds]
    return max(rtol for rtol, _ in found), max(atol for _, atol in found)


def _scalars_differ(name: str, actual: Any, expected: Any, rtol: float, atol: float) -> str:
    absolute = abs(actual - expected)
    relative = float("inf") if expected == 0 else absolute / abs(expected)
    allowed = ("", "") if rtol == atol == 0 else (f" (up to {atol} allowed)", f" (up to {rtol} allowed)")
    return (
        f"{name} are not {'equal' if rtol == atol == 0 else 'close'}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {absolute}{allowed[0]}\nRelative difference: {relative}{allowed[1]}"
    )


def _tensors_differ(name: str, actual: Tensor, expected: Tensor, matches: Tensor, rtol: float, atol: float) -> str:
    count = matches.numel()
    wrong = count - int(matches.sum())
    judgement = "equal" if rtol == atol == 0 else "close"
    lines = [f"{name} are not {judgement}!\n", f"Mismatched elements: {wrong} / {count} ({wrong / count:.1%})"]
    a, b = (x.flatten() for x in (actual, expected))
    if not (a.is_floating_point() or a.is_complex()):
        a, b = a.to(int64), b.to(int64)
    right = matches.flatten()
    absolute = (a - b).abs().masked_fill(right, 0)
    relative = (absolute / b.abs()).masked_fill(right, 0)
    for kind, difference, limit in (("absolute", absolute, atol), ("relative", relative, rtol)):
        largest, place = difference.max(0)
        index = tuple(int(i) for i in np.unravel_index(int(place), tuple(matches.shape)))
        allowed = "" if rtol == atol == 0 else f" (up to {limit} allowed)"
        lines.append(f"Greatest {kind} difference: {largest.item()} at index {index}{allowed}")
    return "\n".join(lines)


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True, msg: str = ""
) -> None:
    """The older form of `assert_close`, with other tolerances."""
    import warnings

    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
        "`torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
        "https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
        stacklevel=2,
    )
    first = actual if isinstance(actual, Tensor) else tensor(actual)
    second = expected if isinstance(expected, Tensor) else tensor(expected, dtype=first.dtype)
    if rtol is None and atol is None:
        looser = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}
        rtol, atol = _default_tolerances([first.dtype, second.dtype], looser)
    assert_close(first, second, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def make_tensor(
    *shape: Any, dtype: dtype, device: Any, low: float | None = None, high: float | None = None, requires_grad: bool = False,
    noncontiguous: bool = False, exclude_zero: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor of uniformly distributed values, by default between -9 and 9 (whole numbers: -9 to 9; bool: either)."""
    from ._creation import empty
    from ._sampling import randint

    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    fractions = dtype.is_floating_point or dtype.is_complex
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=} and {memory_format=}"
        )
    if requires_grad and not fractions:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    lowest, highest = _interval(dtype, low, high)
    noncontiguous = noncontiguous and math.prod(sizes) > 1
    if noncontiguous:
        sizes = (*sizes[:-1], 2 * sizes[-1])
    if fractions:
        made = empty(sizes, dtype=dtype, device=device)
        parts = FUNCTIONS["view_as_real"](made) if dtype.is_complex else made
        half = highest / 2 - lowest / 2  # the whole may be more than there are numbers for
        parts.uniform_(-1, 1).mul_(half).add_(lowest / 2 + highest / 2).clamp_(lowest, highest)
    else:
        made = randint(math.ceil(lowest), math.ceil(highest), sizes, device=device, dtype=dtype)
    if noncontiguous:
        made = made[..., 1::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        made[made == 0] = finfo(dtype).tiny if fractions else 1
    return made.requires_grad_(requires_grad) if fractions else made


def _interval(kind: dtype, low: float | None, high: float | None) -> tuple[float, float]:
    """From where to where the numbers of `make_tensor` go."""
    fractions = kind.is_floating_point or kind.is_complex
    lowest: float
    highest: float
    if kind.name == "bool":
        lowest, highest, usual = 0, 2, (0, 2)
    elif fractions:
        lowest, highest, usual = finfo(kind).min, finfo(kind).max, (-9, 9)
    else:
        lowest, highest, usual = iinfo(kind).min, iinfo(kind).max + (kind.name != "int64"), (-9, 10)
    low, high = usual[0] if low is None else low, usual[1] if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and fractions:
        import warnings

        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and will be removed "
            "in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < lowest or low >= highest:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {kind} only supports [{lowest}, {highest})"
        )
    return min(max(low, lowest), highest), min(max(high, lowest), highest)
