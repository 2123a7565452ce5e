"""Constraints: the sets in which parameters and samples of distributions lie.

`check(value)` says of each event in a batch whether it satisfies the constraint. `event_dim` is the number of rightmost dimensions that
make up an event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._dtype import bool_, finfo
from .._tensor import Tensor
from ._functions import cat as _cat_tensors
from ._functions import stack as _stack_tensors

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than",
    "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky",
    "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive", "positive_definite",
    "positive_integer", "positive_semidefinite", "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A region over which a variable is valid."""

    is_discrete: Any = False
    event_dim: Any = 0
    bounds: tuple[str, ...] = ()  # the attributes that the repr shows

    def check(self, value: Tensor) -> Tensor:
        """For each event, whether it satisfies the constraint."""
        raise NotImplementedError

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in self.bounds)
        return f"{type(self).__name__.removeprefix('_')}({shown})"


# ---- depending on other variables ---------------------------------------------------------------------------------------------------


class _Dependent(Constraint):
    """Stands for a variable whose support depends on others."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically; say it: constraints.dependent(is_discrete=False)")
        return bool(self._is_discrete)

    @property
    def event_dim(self) -> int:
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically; say it: constraints.dependent(event_dim=0)")
        return int(self._event_dim)

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        """The same with what is known about it."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint: ask the constraint of an instance")


class _DependentProperty(property, _Dependent):
    """A property that is a constraint: of an instance a certain one, of the class a dependent one."""

    def __init__(
        self, fn: Callable[[Any], Any] | None = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[[Any], Any]) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on other variables."""
    return isinstance(constraint, _Dependent)


# ---- made of others -----------------------------------------------------------------------------------------------------------------


class _IndependentConstraint(Constraint):
    """A constraint that an event satisfies if all its parts do."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        if reinterpreted_batch_ndims < 0:
            raise AssertionError("reinterpreted_batch_ndims must be a non-negative integer")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:
        return bool(self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        return int(self.base_constraint.event_dim) + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            expected = self.base_constraint.event_dim + self.reinterpreted_batch_ndims
            raise ValueError(f"Expected value.dim() >= {expected} but got {value.dim()}")
        return result.reshape((*result.shape[: result.dim() - self.reinterpreted_batch_ndims], -1)).all(-1)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: every component has to allow the value."""

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint {base_constraint} is not an instance of Constraint")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        return bool(self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        return int(self.base_constraint.event_dim)

    def check(self, value: Tensor) -> Tensor:
        components = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        batch = components.shape[: value.dim() - self.event_dim]
        return components.reshape((*batch, -1)).all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Cat(Constraint):
    """Constraints for slices of certain lengths along a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq = list(cseq)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)}): one length for each constraint")
        self.dim = dim

    @property
    def is_discrete(self) -> bool:
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:
        return max(int(c.event_dim) for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} is out of range for a value of {value.dim()} dimensions")
        parts, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths, strict=True):
            parts.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return _cat_tensors(parts, self.dim)


class _Stack(Constraint):
    """Constraints for the slices along a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq = list(cseq)
        self.dim = dim

    @property
    def is_discrete(self) -> bool:
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:
        dim = max(int(c.event_dim) for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} is out of range for a value of {value.dim()} dimensions")
        slices = [value.select(self.dim, i) for i in range(value.size(self.dim))]
        return _stack_tensors([c.check(part) for c, part in zip(self.cseq, slices, strict=True)], self.dim)


# ---- numbers ------------------------------------------------------------------------------------------------------------------------


class _Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _Bounded(Constraint):
    """Numbers with a lower bound, an upper bound, or both."""

    def __init__(self, *bounds: Any, **named: Any) -> None:
        values = dict(zip(self.bounds, bounds, strict=False)) | named
        if len(bounds) > len(self.bounds) or values.keys() != set(self.bounds):
            raise TypeError(f"{type(self).__name__.removeprefix('_')}() takes {' and '.join(self.bounds)}")
        self.__dict__.update(values)
        super().__init__()

    lower_bound: Any
    upper_bound: Any


class _IntegerInterval(_Bounded):
    """Integers between two bounds, which belong to them."""

    is_discrete, bounds = True, ("lower_bound", "upper_bound")

    def check(self, value: Tensor) -> Tensor:
        within: Tensor = (value >= self.lower_bound) & (value <= self.upper_bound)
        return (value % 1 == 0) & within if value.is_floating_point() else within


class _IntegerLessThan(_Bounded):
    """Integers up to a bound, which belongs to them."""

    is_discrete, bounds = True, ("upper_bound",)

    def check(self, value: Tensor) -> Tensor:
        result: Tensor = (value % 1 == 0) & (value <= self.upper_bound)
        return result


class _IntegerGreaterThan(_Bounded):
    """Integers from a bound on, which belongs to them."""

    is_discrete, bounds = True, ("lower_bound",)

    def check(self, value: Tensor) -> Tensor:
        result: Tensor = (value % 1 == 0) & (value >= self.lower_bound)
        return result


class _Real(Constraint):
    """Everything but NaN."""

    def check(self, value: Tensor) -> Tensor:
        return value == value


class _GreaterThan(_Bounded):
    bounds = ("lower_bound",)

    def check(self, value: Tensor) -> Tensor:
        result: Tensor = value > self.lower_bound
        return result


class _GreaterThanEq(_Bounded):
    bounds = ("lower_bound",)

    def check(self, value: Tensor) -> Tensor:
        result: Tensor = value >= self.lower_bound
        return result


class _LessThan(_Bounded):
    bounds = ("upper_bound",)

    def check(self, value: Tensor) -> Tensor:
        result: Tensor = value < self.upper_bound
        return result


class _Interval(_Bounded):
    """Numbers between two bounds, which belong to them."""

    bounds = ("lower_bound", "upper_bound")

    def check(self, value: Tensor) -> Tensor:
        result: Tensor = (value >= self.lower_bound) & (value <= self.upper_bound)
        return result


class _HalfOpenInterval(_Bounded):
    """Numbers between two bounds, of which the lower one belongs to them."""

    bounds = ("lower_bound", "upper_bound")

    def check(self, value: Tensor) -> Tensor:
        result: Tensor = (value >= self.lower_bound) & (value < self.upper_bound)
        return result


# ---- vectors ------------------------------------------------------------------------------------------------------------------------


class _OneHot(Constraint):
    """Vectors of zeros and a single one."""

    is_discrete, event_dim = True, 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Simplex(Constraint):
    """Vectors of numbers from 0 on with the sum 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts whose sum is at most `upper_bound`."""

    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Tensor) -> Tensor:
        result: Tensor = (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)
        return result


# ---- matrices -----------------------------------------------------------------------------------------------------------------------


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        result: Tensor = (value.tril() == value).flatten(-2).all(-1)
        return result


class _LowerCholesky(_LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Cholesky factors of correlation matrices: their rows have length 1."""

    def check(self, value: Tensor) -> Tensor:
        tolerance = finfo(value.dtype).eps * value.size(-1) * 10
        result: Tensor = (value.square().sum(-1).sub(1).abs() <= tolerance).all(-1) & super().check(value)
        return result


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        fits = value.shape[-1] == value.shape[-2]
        return value.new_full(value.shape[:-2], fits, dtype=bool_)


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        square = super().check(value)
        if not square.all():
            return square
        result: Tensor = value.isclose(value.mT, atol=1e-6).flatten(-2).all(-1)
        return result


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        from ..linalg import eigvalsh

        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        values: Tensor = eigvalsh(value)
        rounding = finfo(values.dtype).eps * values.shape[-1] * values.abs().amax(-1, True)  # a zero may come out a little below
        return values.ge(-rounding).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        from ..linalg import cholesky_ex

        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        failed: Tensor = cholesky_ex(value).info
        return failed.eq(0)


# ---- public names -------------------------------------------------------------------------------------------------------------------

dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
