"""What is wrong with a Jacobian: the hints that `gradcheck` adds to its message. Plain arrays only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
# An element of the numerical Jacobian once more: (row, column, eps, side), where side is "central", "above" or "below".
Again = Callable[[int, int, float, str], complex]


def diagnose(
    numerical: Array, analytical: Array, input_shape: Shape, output_shape: Shape, rtol: float, atol: float, eps: float, again: Again
) -> str:
    """The worst element, and which of the usual mistakes it looks like. Both Jacobians have a row per element of the input."""
    lines = [*worst_element(numerical, analytical, input_shape, output_shape, rtol, atol)]
    lines += patterns(numerical, analytical, input_shape, rtol, atol)
    row, column = worst(numerical, analytical, rtol, atol)
    if np.isfinite(analytical[row, column]):
        lines += step_size(analytical[row, column], row, column, rtol, atol, eps, again)
    return "\n".join(f"  {line}" for line in lines)


def excess(numerical: Array, analytical: Array, rtol: float, atol: float) -> Array:
    """How far each element is out of tolerance."""
    with np.errstate(invalid="ignore"):
        over = np.abs(analytical - numerical) - (atol + rtol * np.abs(numerical))
    return np.where(np.isnan(over), np.inf, over)


def worst(numerical: Array, analytical: Array, rtol: float, atol: float) -> tuple[int, int]:
    row, column = np.unravel_index(np.argmax(excess(numerical, analytical, rtol, atol)), numerical.shape)
    return int(row), int(column)


def worst_element(
    numerical: Array, analytical: Array, input_shape: Shape, output_shape: Shape, rtol: float, atol: float
) -> Iterator[str]:
    row, column = worst(numerical, analytical, rtol, atol)
    wrong = int(np.sum(excess(numerical, analytical, rtol, atol) > 0))
    n, a = numerical[row, column], analytical[row, column]
    of, to = place("output", output_shape, column), place("input", input_shape, row)
    ratio = f", ratio {number(a / n)}" if n != 0 and np.isfinite(a) and np.isfinite(n) else ""
    yield f"{wrong} of {numerical.size} elements differ; worst: d {of} / d {to}: numerical {number(n)}, analytical {number(a)}{ratio}"


def place(name: str, shape: Shape, flat: int) -> str:
    return name if not shape else f"{name}[{', '.join(map(str, np.unravel_index(flat, shape)))}]"


def number(value: Any) -> str:
    return f"{value:.6g}"


def patterns(numerical: Array, analytical: Array, input_shape: Shape, rtol: float, atol: float) -> Iterator[str]:
    """Known mistakes that the whole Jacobian shows."""

    def same(a: Array, b: Array = numerical) -> bool:
        return bool(np.allclose(a, b, rtol, atol))

    if not np.all(np.isfinite(numerical)):
        yield "the function itself is not finite near this point: move the input away from where it is not defined"
        return
    if not np.all(np.isfinite(analytical)):
        yield "the gradient is not finite although the function is: look for 0/0 or inf * 0 (autograd.detect_anomaly() finds it)"
        return
    if not np.any(analytical):
        yield "analytical is zero everywhere: the backward returns None or zeros for this input, or a .detach() cuts the graph"
        return
    if not np.any(np.abs(numerical) > atol):
        yield "numerical is zero everywhere: the output does not depend on this input, but the backward returns a gradient for it"
        return
    factor = common_factor(numerical, analytical)
    if factor is not None and same(analytical / factor):
        sign = ": the sign is wrong" if np.isclose(factor, -1) else ""
        yield f"analytical is {number(factor)} times numerical{sign}"
    elif same(np.conjugate(analytical)):
        yield "analytical is the complex conjugate of numerical: in PyTorch's convention the gradient is conj(f'(z)) * g"
    elif analytical.shape[0] == analytical.shape[1] and same(analytical.T):
        yield "analytical is the transposed of numerical: the backward multiplies with J instead of J^T"
    elif len(input_shape) >= 2 and input_shape[-1] == input_shape[-2] and same(swapped(analytical, input_shape)):
        yield "the gradient is transposed: its last two dimensions are exchanged"


def common_factor(numerical: Array, analytical: Array) -> Any:
    """k where analytical = k * numerical, or None."""
    at = np.unravel_index(np.argmax(np.abs(numerical)), numerical.shape)
    factor = analytical[at] / numerical[at]
    rounded = np.round(factor, 4)
    return rounded if rounded not in (0, 1) else None


def swapped(jacobian: Array, input_shape: Shape) -> Array:
    return np.swapaxes(jacobian.reshape(*input_shape, -1), -2, -3).reshape(jacobian.shape)


def step_size(analytical: Any, row: int, column: int, rtol: float, atol: float, eps: float, again: Again) -> Iterator[str]:
    """Whether the finite difference is to blame: a kink, or a step that is too large or too small."""
    below, above = again(row, column, eps, "below"), again(row, column, eps, "above")
    nearer = again(row, column, eps / 10, "above") - again(row, column, eps / 10, "below")
    jump = abs(above - below)
    if jump > 0.01 * max(abs(above), abs(below), atol) and abs(nearer) > 0.5 * jump:
        yield (
            f"the function may have a kink or a jump here: its slope is {number(below)} from below and {number(above)} from above, "
            "so there is no derivative to compare with; move the input away from this point"
        )
        return
    error = abs(again(row, column, eps, "central") - analytical)
    for other in (eps * 100, eps / 100):
        value = again(row, column, other, "central")
        if abs(value - analytical) < min(error / 5, max(atol + rtol * abs(value), error / 50)):
            yield (
                f"the difference shrinks from {number(error)} to {number(abs(value - analytical))} with eps={other:g}: "
                f"the finite difference is inaccurate, the gradient may be right; pass eps={other:g} or double precision inputs"
            )
            return
    yield "the difference does not shrink with another eps: the gradient is wrong"
