"""From constraints to transforms: `biject_to` finds a bijection of unconstrained numbers, `transform_to` any map onto the constraint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tensor import Tensor
from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], transforms.Transform]


class ConstraintRegistry:
    """Functions that make a transform for a constraint, by the type of constraint."""

    def __init__(self) -> None:
        self._registry: dict[type, Factory] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Register a factory for a class of constraints, or for that of an instance. Without one, returns a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Any) -> transforms.Transform:
        """The transform for a constraint."""
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()
_both = (biject_to, transform_to)


def _for_both(*kinds: type) -> Callable[[Factory], Factory]:
    def register(factory: Factory) -> Factory:
        for registry in _both:
            for kind in kinds:
                registry.register(kind, factory)
        return factory

    return register


@_for_both(constraints._Real)
def _real(constraint: Any) -> transforms.Transform:
    return transforms.identity_transform


@_for_both(constraints._GreaterThan, constraints._GreaterThanEq)
def _above(constraint: Any) -> transforms.Transform:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)])


@_for_both(constraints._LessThan)
def _below(constraint: Any) -> transforms.Transform:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)])


@_for_both(constraints._Interval, constraints._HalfOpenInterval)
def _between(constraint: Any) -> transforms.Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if not isinstance(low, Tensor) and not isinstance(high, Tensor) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


biject_to.register(constraints._Simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints._Simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(constraints._LowerCholesky, lambda constraint: transforms.LowerCholeskyTransform())
transform_to.register(constraints._PositiveDefinite, lambda constraint: transforms.PositiveDefiniteTransform())
transform_to.register(constraints._PositiveSemidefinite, lambda constraint: transforms.PositiveDefiniteTransform())


@_for_both(constraints._CorrCholesky)
def _corr_cholesky(constraint: Any) -> transforms.Transform:
    return transforms.CorrCholeskyTransform()


def _composed(registry: ConstraintRegistry) -> None:
    """Constraints made of others: the transforms of the parts, from the same registry."""

    def independent(constraint: Any) -> transforms.Transform:
        return transforms.IndependentTransform(registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims)

    def cat(constraint: Any) -> transforms.Transform:
        return transforms.CatTransform([registry(c) for c in constraint.cseq], constraint.dim, constraint.lengths)

    def stack(constraint: Any) -> transforms.Transform:
        return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)

    registry.register(constraints._IndependentConstraint, independent)
    registry.register(constraints._Cat, cat)
    registry.register(constraints._Stack, stack)


for _registry in _both:
    _composed(_registry)
