"""Filling tensors with random numbers: `uniform_`, `normal_` and their kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _random
from ._layer import Pending, levels
from ._sampling import Draw, Generator, sample_node
from ._site import here
from ._state import GRAD, get_mode
from ._tensor import Parameter, Tensor
from .autograd.forward_ad import forget_tangent
from .autograd.node import INFERENCE_TENSOR
from .autograd.views import check_writable, counter_of, set_history
from .ops._registry import composite


def _target(tensor: Any) -> Any:
    """The array of an ordinary tensor that may be written to, and of which nothing is recorded; None of others."""
    mode = get_mode()
    if mode > GRAD or levels() or (tensor.__class__ is not Tensor and tensor.__class__ is not Parameter):
        return None
    data = tensor._data
    if data.__class__ is not np.ndarray or tensor._vc is INFERENCE_TENSOR or (mode and tensor._fn is not None and tensor.requires_grad):
        return None
    return data


def _fill(self: Tensor, node_name: str, draw: Draw, *numbers: Any) -> Tensor:
    data = _target(self)
    if data is not None:
        draw(data, *numbers)
        return self._written()
    node = sample_node(node_name, (self,))
    check_writable(self, node is not None)
    if levels():
        from ._randomness import filled

        filled(self, lambda array: draw(array, *numbers))
    elif self._data.__class__ is np.ndarray:
        draw(self._data, *numbers)
    elif self._data.__class__ is Pending:
        drawn = np.empty(self._data.shape, self._data.array.dtype)
        draw(drawn, *numbers)
        self._data[...] = drawn
    if self._vc is not INFERENCE_TENSOR:
        counter_of(self).bump(here())
    if node is not None:
        set_history(self, node, here())
    forget_tangent(self)
    return self


def _in_place(fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return composite(fn.__name__, function=False)(fn)


# A parameter of PyTorch's is called `from`, which Python cannot write: it can come by position or in `**named`.


@_in_place
def uniform_(self: Tensor, from_: float = 0, to: float = 1, *, generator: Generator | None = None, **named: Any) -> Tensor:
    """Fill with uniform numbers from [from, to)."""
    low = _named_from("uniform_", named, from_) if named else from_
    if (data := _target(self)) is not None:
        _random.uniform(data, low, to, generator)
        return self._written()
    return _fill(self, "UniformBackward0", _random.uniform, low, to, generator)


def _named_from(name: str, named: dict[str, Any], by_position: Any) -> Any:
    low = named.pop("from", by_position)
    if named:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(named))}'")
    return low


@_in_place
def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers."""
    if (data := _target(self)) is not None:
        _random.normal(data, mean, std, generator)
        return self._written()
    return _fill(self, "NormalBackward0", _random.normal, mean, std, generator)


@_in_place
def log_normal_(self: Tensor, mean: float = 1, std: float = 2, *, generator: Generator | None = None) -> Tensor:
    """Fill with exponentials of normal numbers."""
    return _fill(self, "LogNormalBackward0", _random.log_normal, mean, std, generator)


@_in_place
def exponential_(self: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill with exponentially distributed numbers of rate `lambd`."""
    if (data := _target(self)) is not None:
        _random.exponential(data, lambd, generator)
        return self._written()
    return _fill(self, "ExponentialBackward0", _random.exponential, lambd, generator)


@_in_place
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with the number of trials up to the first success."""
    return _fill(self, "GeometricBackward0", _random.geometric, p, generator)


@_in_place
def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill with Cauchy distributed numbers."""
    return _fill(self, "CauchyBackward0", _random.cauchy, median, sigma, generator)


@_in_place
def random_(self: Tensor, *bounds: int | None, to: int | None = None, generator: Generator | None = None, **named: Any) -> Tensor:
    """Fill with integers: `random_(to)`, `random_(from, to)`, or up to the largest that the dtype holds exactly."""
    low = _named_from("random_", named, None) if named else None
    if len(bounds) == 2:
        low, high = bounds
    elif bounds:
        low, high = (bounds[0], to) if to is not None else (0, bounds[0])
    else:
        low, high = (0 if low is None and to is not None else low), to
    if (data := _target(self)) is not None:
        _random.random(data, low, high, generator)
        return self._written()
    overload = 2 if low is None else 1 if len(bounds) + len(named) < 2 and low == 0 else 0
    return _fill(self, f"RandomBackward{overload}", _random.random, low, high, generator)


@_in_place
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with ones, of probability `p`, and zeros. `p` may be a tensor that broadcasts to this one."""
    if levels() and isinstance(p, Tensor):
        from ._randomness import filled_from

        return filled_from(self, p.detach(), lambda x, chances: x.bernoulli_(chances, generator=generator))
    probability = p._data if isinstance(p, Tensor) else p
    if (data := _target(self)) is not None:
        _random.bernoulli(data, probability, generator)
        return self._written()
    kind = "BernoulliBackward1" if isinstance(p, Tensor) else "BernoulliBackward2"
    return _fill(self, kind, _random.bernoulli, probability, generator)
