"""Samples that can be differentiated by the parameters of their distribution, though they are drawn by rejection.

The sample keeps its rank in its distribution; how it moves then is in `_implicit_math.py`. As in PyTorch, that has no derivative itself.
Imported when first used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _random
from .._layer import levels
from .._tensor import Tensor, wrap
from . import _implicit_math as numerics
from ._operands import no_rule, refuse
from ._registry import LEADING, Array, elementwise, op
from ._rules import call

hidden: dict[str, Any] = {"method": False, "function": False}


def _gamma_slope(input: Array, output: Array) -> Array:
    """The derivative of a gamma distributed sample by its concentration."""
    input, output = np.broadcast_arrays(input, output)
    return numerics.gamma_slope(input, output).astype(input.dtype)


def _beta_slope(x: Array, alpha: Array, total: Array) -> Array:
    """The derivative of a coordinate of a Dirichlet sample by its concentration, divided by one minus the coordinate."""
    x, alpha, total = np.broadcast_arrays(x, alpha, total)
    slopes = numerics.beta_slope(alpha, total - alpha, x).astype(x.dtype)
    return np.where(x == 1, slopes * 0, slopes / np.where(x == 1, 1, 1 - x))


_standard_gamma_grad: Any = elementwise(
    "_standard_gamma_grad", _gamma_slope, inplace=False, scalars=False, check=refuse("c", "_standard_gamma_grad_cpu"),
    input=no_rule("_standard_gamma_grad"), output=no_rule("_standard_gamma_grad"), **hidden,
)  # fmt: skip
_dirichlet_grad: Any = elementwise(
    "_dirichlet_grad", _beta_slope, inplace=False, scalars=False, check=refuse("c", "_dirichlet_grad_cpu"),
    x=no_rule("_dirichlet_grad"), alpha=no_rule("_dirichlet_grad"), total=no_rule("_dirichlet_grad"), **hidden,
)  # fmt: skip


# The samples come as an argument: they are drawn before, since an op gives the same result whenever it is called.


@op(
    nodes="StandardGammaBackward0", out=False, batch=LEADING, **hidden,
    jvp=lambda input, input_t, sample: input_t * call(_standard_gamma_grad, input, sample),
    input=lambda g, input, sample: g * call(_standard_gamma_grad, input, sample),
)  # fmt: skip
def gamma_path(input: Array, sample: Array) -> Array:
    """A sample from a gamma distribution of rate 1, which moves with its concentration `input`."""
    return np.copy(sample)


def dirichlet_rule(g: Array, input: Array, sample: Any) -> Array:
    slopes = call(_dirichlet_grad, sample, input, np.sum(input, axis=-1, keepdims=True))
    return slopes * (g - np.sum(sample * g, axis=-1, keepdims=True))


def dirichlet_jvp(input: Array, input_t: Array, sample: Any) -> Array:
    moved = call(_dirichlet_grad, sample, input, np.sum(input, axis=-1, keepdims=True)) * input_t
    return moved - sample * np.sum(moved, axis=-1, keepdims=True)


@op(nodes="_DirichletBackward", out=False, batch=LEADING, jvp=dirichlet_jvp, input=dirichlet_rule, **hidden)
def dirichlet_path(input: Array, sample: Array) -> Array:
    """A sample from a Dirichlet distribution, which moves with its concentration `input`."""
    return np.copy(sample)


def drawn(draw: Any, input: Array, generator: Any) -> Tensor:
    """Samples for the parameters in a tensor."""

    def of_arrays(x: Tensor) -> Tensor:
        return wrap(draw(x._data, generator))

    if not levels():
        return of_arrays(input)
    from .._randomness import drawn_from

    return drawn_from(of_arrays, input)


def _standard_gamma(input: Array, generator: Any = None) -> Array:
    """Gamma distributed numbers of rate 1, one for each concentration in `input`."""
    return gamma_path(input, drawn(_random.standard_gamma, input, generator))


def _sample_dirichlet(input: Array, generator: Any = None) -> Array:
    """Dirichlet distributed points, for the concentrations along the last dimension of `input`."""
    return dirichlet_path(input, drawn(_random.dirichlet, input, generator))
