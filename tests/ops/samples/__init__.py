"""Sample calls of every op, in a form that belongs to no library: NumPy arrays stand for tensors.

One module per family of ops (`elementwise.py`, `reduce.py`, ...); all are imported by `load()`. From these rows
`tests/ops/test_ops.py` makes the checks of derivatives, in-place forms, `out=`, non-contiguous and empty inputs, and
`tests/torch_parity/test_ops_parity.py` compares values, dtypes, shapes, gradients and errors with PyTorch. An op without
samples fails the suite. For example:

    @samples("mul", "add")                             # one generator may serve several ops; it runs once for each
    def two_operands(make: Make) -> Iterator[Sample]:
        yield Sample(make(3, 4), make(4))              # positional and keyword arguments, as in the call
        yield Sample(make(3, 4), 2.0)
        yield Sample(make(3, 4, dtype="int32"), make(3, 4, dtype="float32"))

    @samples("relu")
    def with_a_kink(make: Make) -> Iterator[Sample]:
        yield Sample(make(3, 4, avoid=(0.0,)))         # differences are taken: stay away from the kink
        yield Sample(np.array([0.0, -0.0, np.nan, np.inf])).only_values()   # PyTorch's values and gradients there

    @samples("sum_dim", torch="sum")                   # PyTorch's name where it is another, a dotted path below `torch`
    def ...

    @error_samples("cat")                              # type and opening words of the message are PyTorch's
    def bad_cat(make: Make) -> Iterator[ErrorSample]:
        yield ErrorSample(RuntimeError, "expected a non-empty list of Tensors", [])

Arguments that are NumPy arrays become tensors, also inside lists and tuples; `Dtype("float32")` becomes the library's dtype
object; everything else is passed as it is. Float64 samples are compared with PyTorch in float32 too.
"""

from __future__ import annotations

import importlib
import pkgutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

Generator = Callable[["Make"], Iterator["Sample"]]
ErrorGenerator = Callable[["Make"], Iterator["ErrorSample"]]


class Dtype(NamedTuple):
    """A dtype argument: `Dtype("float32")` is `torch.float32` there and `adjoint.float32` here."""

    name: str


class Sample:
    """The arguments of one call."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs
        self.differences = True  # whether finite differences are meaningful here
        self.torch_gradient = True  # whether the gradient is PyTorch's here
        self.torch_values = True  # whether values are PyTorch's here
        self.any_layout = True  # whether the call works on tensors that are not contiguous
        self.rtol: float | None = None  # for comparison with PyTorch; None is the default of the dtype

    def only_values(self) -> Self:
        """At a kink, a pole or a jump: compare with PyTorch (values and gradient), take no differences."""
        self.differences = False
        return self

    def no_gradient(self) -> Self:
        """Compare values only: the gradient is not defined, or deliberately not PyTorch's."""
        self.differences = self.torch_gradient = False
        return self

    def gradient_differs(self) -> Self:
        """Take differences, but do not compare the gradient with PyTorch's, for a reason given next to the sample."""
        self.torch_gradient = False
        return self

    def not_in_torch(self) -> Self:
        """PyTorch refuses this call, or answers differently for a reason given next to the sample."""
        self.torch_values = self.torch_gradient = False
        return self

    def only_contiguous(self) -> Self:
        """The call makes a view that other memory layouts do not allow."""
        self.any_layout = False
        return self

    def tolerance(self, rtol: float | None) -> Self:
        """A relative tolerance for the comparison with PyTorch, where it is looser than that of the dtype."""
        self.rtol = rtol
        return self

    def __repr__(self) -> str:
        shown = [brief(a) for a in self.args] + [f"{k}={brief(v)}" for k, v in self.kwargs.items()]
        return f"({', '.join(shown)})"


class ErrorSample:
    """A call that must raise `error` with a message in which the pattern is found (`re.search`)."""

    def __init__(self, error: type[Exception], pattern: str, *args: Any, **kwargs: Any) -> None:
        self.error = error
        self.pattern = pattern
        self.args = args
        self.kwargs = kwargs
        self.in_torch = True

    def not_in_torch(self) -> Self:
        """PyTorch accepts this call or words the error differently."""
        self.in_torch = False
        return self

    def __repr__(self) -> str:
        return f"{self.error.__name__}{Sample(*self.args, **self.kwargs)}"


class Make:
    """Random arrays, the same in every run: the seed is the name of the op."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.random = np.random.default_rng(zlib.crc32(name.encode()))

    def __call__(
        self,
        *shape: int,
        dtype: str = "float64",
        low: float = -2.0,
        high: float = 2.0,
        avoid: tuple[float, ...] = (),
        gap: float = 0.1,
    ) -> np.ndarray:
        """Values in [low, high), none within `gap` of a number in `avoid`; for complex numbers, both parts."""
        kind = np.dtype(dtype).kind
        if kind == "b":
            return np.asarray(self.random.random(shape) < 0.5)
        if kind in "iu":
            lowest = max(int(low), 0) if kind == "u" else int(low)
            return np.asarray(self.random.integers(lowest, int(high) + 1, shape)).astype(dtype)
        values = np.asarray(self.random.uniform(low, high, shape))
        for kink in avoid:
            near = np.abs(values - kink) < gap
            values = np.where(near, kink + np.where(values < kink, -gap, gap) * (1 + self.random.random(shape)), values)
        if kind == "c":
            return np.asarray(values + 1j * self.random.uniform(low, high, shape)).astype(dtype)
        return np.asarray(values).astype(dtype)

    def indices(self, *shape: int, size: int) -> np.ndarray:
        """Integers in [0, size)."""
        return np.asarray(self.random.integers(0, size, shape))

    def distinct(self, *shape: int) -> np.ndarray:
        """Values that differ by at least 0.1, in random order: no ties for max, sort, median."""
        count = int(np.prod(shape))
        ranks = self.random.permutation(count)
        return np.asarray(ranks * 0.25 - count / 8 + self.random.uniform(0, 0.1, count)).reshape(shape)


@dataclass
class Row:
    """What is known about one op."""

    name: str
    generators: list[Generator] = field(default_factory=list)
    error_generators: list[ErrorGenerator] = field(default_factory=list)
    torch: str | None = None  # the function of PyTorch to compare with, where it is not found by name
    ours: Any = None  # the function of adjoint, likewise, for composites that are not exported from the top; or a function that calls it
    second_order: bool = True  # whether differences are taken of the gradient too

    def samples(self) -> list[Sample]:
        return [sample for generator in self.generators for sample in generator(Make(self.name))]

    def error_samples(self) -> list[ErrorSample]:
        return [sample for generator in self.error_generators for sample in generator(Make(self.name))]


ROWS: dict[str, Row] = {}


def samples(
    *names: str, torch: str | None = None, ours: Any = None, second_order: bool = True
) -> Callable[[Generator], Generator]:
    """Register a generator of samples for ops (or composites) by name; several generators for one name add up."""

    def register(generator: Generator) -> Generator:
        for name in names:
            row = ROWS.setdefault(name, Row(name))
            row.generators.append(generator)
            row.torch = torch or row.torch
            row.ours = ours or row.ours
            row.second_order &= second_order
        return generator

    return register


def error_samples(*names: str) -> Callable[[ErrorGenerator], ErrorGenerator]:
    """Register a generator of calls that must fail."""

    def register(generator: ErrorGenerator) -> ErrorGenerator:
        for name in names:
            ROWS.setdefault(name, Row(name)).error_generators.append(generator)
        return generator

    return register


def load() -> dict[str, Row]:
    """All rows, from every module of this package."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return ROWS


def load_dense() -> dict[str, Row]:
    """All rows but those of the ops under sparse tensors: their arguments are patterns, which are no examples or symbols."""
    own = f"{__name__}.sparse"
    return {name: row for name, row in load().items() if all(generator.__module__ != own for generator in row.generators)}


def converted(value: Any, tensor: Callable[[np.ndarray], Any], dtype: Callable[[str], Any]) -> Any:
    """An argument as a library takes it."""
    if isinstance(value, np.ndarray):
        return tensor(value)
    if isinstance(value, Dtype):
        return dtype(value.name)
    if isinstance(value, list | tuple):
        return type(value)([converted(item, tensor, dtype) for item in value])
    return value


def brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, Dtype):
        return value.name
    return f"[{', '.join(map(brief, value))}]" if isinstance(value, list | tuple) else repr(value)
