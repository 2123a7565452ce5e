"""`Distribution`, the base class of all."""

from __future__ import annotations

from typing import Any, Self

from .._site import warn
from .._size import Size
from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from . import constraints
from .utils import all_true, lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A probability distribution. `batch_shape` is the shape of its parameters, `event_shape` that of a single sample."""

    has_rsample = False  # whether samples can be differentiated by the parameters
    has_enumerate_support = False
    _validate_args = __debug__
    arg_constraints: Any

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their arguments where nothing is said: wrong values are errors, and checking takes time."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args() takes True or False, not {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            parameters = self.arg_constraints
        except (AttributeError, NotImplementedError):
            parameters = {}
            warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the distribution "
                "with `validate_args=False` to turn off validation."
            )
        for name, constraint in parameters.items():
            if constraints.is_dependent(constraint):
                continue  # what it has to be is not known here
            if name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property):
                continue  # follows from what is checked
            value = getattr(self, name)
            if not all_true(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} to satisfy "
                    f"the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    # ---- shapes -----------------------------------------------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> Size:
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        return self._event_shape

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution with parameters expanded to a larger batch shape."""
        raise NotImplementedError

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        """The shape of that many samples."""
        one = self._batch_shape + self._event_shape if self._event_shape else self._batch_shape
        return one if sample_shape == () else Size(sample_shape) + one

    def _repeated(self, parameter: Tensor, shape: Size) -> Tensor:
        """A parameter for each of the samples."""
        return parameter if parameter.shape == shape else parameter.expand(shape)

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """A new instance to be filled in. A class derived from `cls` with another `__init__` has to say itself how it expands."""
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also define a custom "
                ".expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def _expand_parameters(self, cls: type, batch_shape: Any, _instance: Any = None) -> Any:
        """`expand` for a class whose state is just its parameters."""
        new = self._get_checked_instance(cls, _instance)
        shape = Size(batch_shape)
        for name, constraint in self.arg_constraints.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                new.__dict__[name] = value.expand(shape + value.shape[value.dim() - constraint.event_dim :])
        return new._finish_expanding(self, shape)

    def _finish_expanding(self, original: Distribution, batch_shape: Size, event_shape: Size | None = None) -> Self:
        Distribution.__init__(self, batch_shape, original._event_shape if event_shape is None else event_shape, validate_args=False)
        self._validate_args = original._validate_args
        return self

    # ---- facts ------------------------------------------------------------------------------------------------------------------------

    @property
    def support(self) -> Any:
        """The constraint that samples satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    # ---- functions --------------------------------------------------------------------------------------------------------------------

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Samples, of which gradients do not flow back to the parameters."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Samples that can be differentiated by the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """That many samples; the older way to write `sample((n,))`."""
        warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability of a discrete value."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to this one."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a new first dimension."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _validate_sample(self, value: Any) -> None:
        """Refuse what this distribution cannot have made."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        event_start = value.dim() - len(self._event_shape)
        if value.shape[max(event_start, 0) :] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {value.size()} vs {self._event_shape}.")
        expected = self._batch_shape + self._event_shape
        for ours, theirs in zip(reversed(value.size()), reversed(expected), strict=False):
            if 1 not in (ours, theirs) and ours != theirs:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.size()} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the distribution with "
                "`validate_args=False` to turn off validation."
            )
            return
        if not all_true(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support ({support!r}) "
                f"of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        names = [name for name in self.arg_constraints if name in self.__dict__]
        values = [self.__dict__[name] for name in names]
        shown = [f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in zip(names, values, strict=True)]
        return f"{self.__class__.__name__}({', '.join(shown)})"
