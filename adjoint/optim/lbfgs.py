"""L-BFGS: a quasi-Newton method that sees all parameters as one vector."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from .._site import StepSite, here, make_tuple
from .._tensor import Tensor, wrap
from ..autograd.views import counter_of
from ._checks import check_lr
from ._elementwise import with_grad
from .optimizer import Optimizer, Params

Vector = np.ndarray[Any, Any]

CURVATURE = 1e-10  # a step along which the gradient changes less than this says nothing about the Hessian
ARMIJO, WOLFE = 1e-4, 0.9  # how much the loss must fall, and how flat it must become, along a search direction


def number(loss: Any) -> float:
    """What a closure returns, a Tensor with a history or a number, without the warning that float() gives of the former."""
    return float(loss.item() if isinstance(loss, Tensor) else loss)


class LBFGS(Optimizer):
    """L-BFGS. `step` needs a closure that clears the gradients, computes the loss, calls `backward` and returns the loss.

    >>> import adjoint as ad
    >>> x = ad.nn.Parameter(ad.zeros(2))
    >>> optimizer = ad.optim.LBFGS([x], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((x - ad.tensor([1.0, 2.0])) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure)  # the loss at the start
    tensor(5., grad_fn=<SumBackward0>)
    >>> closure().item() < 1e-6
    True
    """

    def __init__(
        self,
        params: Params,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        defaults = dict(
            lr=lr, max_iter=max_iter, max_eval=max_iter * 5 // 4 if max_eval is None else max_eval, tolerance_grad=tolerance_grad,
            tolerance_change=tolerance_change, history_size=history_size, line_search_fn=line_search_fn,
        )  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Run up to `max_iter` iterations and return the loss at the start."""
        if closure is None:
            raise TypeError("LBFGS.step() missing 1 required positional argument: 'closure'")
        group = self.param_groups[0]
        search = group["line_search_fn"]
        if search not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        params: list[Tensor] = group["params"]
        lr, max_iter, max_eval, flat_enough = float(group["lr"]), group["max_iter"], group["max_eval"], group["tolerance_grad"]
        small = group["tolerance_change"]

        original = with_grad(closure)
        loss, gradient = number(original), flat_gradient(params)
        state = self.state[params[0]]
        memory = Memory(state, group["history_size"])
        memory.evaluations += 1
        evaluations = 1
        if np.abs(gradient).max() <= flat_enough:
            memory.save(state)
            return original

        def evaluate(start: list[Vector], direction: Vector, t: float) -> Point:
            """Loss and gradient at a distance `t` along a direction; the parameters stay at the start."""
            move(params, t, direction)
            value = number(with_grad(closure))
            found = flat_gradient(params)
            site = make_tuple(StepSite, here())
            for param, array in zip(params, start, strict=True):
                param._data[...] = array
                counter_of(param).bump(site)
            return Point(t, value, found, float(found.dot(direction)))

        previous = loss
        for iteration in range(1, max_iter + 1):
            direction = memory.direction(gradient)
            previous = loss
            memory.step_size = min(1.0, float(1.0 / np.abs(gradient).sum())) * lr if memory.iterations == 1 else lr
            slope = float(gradient.dot(direction))
            if slope > -small:
                break
            if search is not None:
                start = [param._data.copy() for param in params]
                found, used = strong_wolfe(
                    partial(evaluate, start, direction), Point(0.0, loss, gradient, slope), memory.step_size,
                    float(np.abs(direction).max()), small, max_eval - evaluations,
                )  # fmt: skip
                memory.step_size, loss, gradient = found.t, found.loss, found.gradient
                move(params, found.t, direction)
            else:
                move(params, memory.step_size, direction)
                used = 0
                if iteration != max_iter:  # after the last step nobody needs the loss
                    loss, gradient = number(with_grad(closure)), flat_gradient(params)
                    used = 1
            evaluations += used
            memory.evaluations += used
            if (
                evaluations >= max_eval
                or np.abs(gradient).max() <= flat_enough
                or np.abs(direction * memory.step_size).max() <= small
                or abs(loss - previous) < small
            ):
                break
        memory.last_loss = previous
        memory.save(state)
        return original


class Memory:
    """What is remembered of earlier iterations: changes of the gradient along steps, which stand for the Hessian."""

    def __init__(self, state: dict[str, Any], size: int) -> None:
        self.size = size
        self.evaluations: int = state.get("func_evals", 0)
        self.iterations: int = state.get("n_iter", 0)
        self.step_size = float(state.get("t", 0.0))
        self.last_loss = state.get("prev_loss")
        self.last_direction, self.last_gradient = array_of(state.get("d")), array_of(state.get("prev_flat_grad"))
        self.scale: Any = array_of(state.get("H_diag", 1))
        self.changes: list[Vector] = [array_of(y) for y in state.get("old_dirs", ())]
        self.steps: list[Vector] = [array_of(s) for s in state.get("old_stps", ())]
        self.weights: list[Any] = [array_of(r) for r in state.get("ro", ())]

    def save(self, state: dict[str, Any]) -> None:
        state.update(func_evals=self.evaluations, n_iter=self.iterations)
        if self.last_direction is not None:
            state.update(
                d=wrap(self.last_direction), t=self.step_size, old_dirs=[wrap(y) for y in self.changes],
                old_stps=[wrap(s) for s in self.steps], ro=[wrap(np.asarray(r)) for r in self.weights],
                H_diag=self.scale if isinstance(self.scale, int) else wrap(np.asarray(self.scale)),
                prev_flat_grad=wrap(self.last_gradient), prev_loss=self.last_loss,
            )  # fmt: skip

    def direction(self, gradient: Vector) -> Vector:
        """The direction to search in next: minus the approximate inverse Hessian times the gradient."""
        self.iterations += 1
        if self.iterations > 1:
            self._remember(gradient - self.last_gradient, self.last_direction * self.step_size)
        self.last_gradient = gradient.copy()
        direction = -gradient
        pairs = list(zip(self.changes, self.steps, self.weights, strict=True))
        shares = []
        for change, step, weight in reversed(pairs):
            shares.append(step.dot(direction) * weight)
            direction -= change * shares[-1]
        direction *= self.scale
        for (change, step, weight), share in zip(pairs, reversed(shares), strict=True):
            direction += step * (share - change.dot(direction) * weight)
        self.last_direction = direction
        return direction

    def _remember(self, change: Vector, step: Vector) -> None:
        curvature = change.dot(step)
        if curvature <= CURVATURE:
            return
        self.changes.append(change)
        self.steps.append(step)
        self.weights.append(1.0 / curvature)
        if len(self.changes) > self.size:
            del self.changes[0], self.steps[0], self.weights[0]
        self.scale = curvature / change.dot(change)


class Point(NamedTuple):
    """A point on the line that is searched."""

    t: float
    loss: float
    gradient: Any  # of the kind that the search is given
    slope: float  # the derivative of the loss along the line


def strong_wolfe(
    evaluate: Callable[[float], Point], start: Point, t: float, length: float, small: float, limit: int, fall: float = ARMIJO,
    flatness: float = WOLFE,
) -> tuple[Point, int]:  # fmt: skip
    """A point where the loss has fallen enough and become flat enough, and how many evaluations it took to find it."""

    def falls_too_little(point: Point) -> bool:
        return point.loss > start.loss + fall * point.t * start.slope

    def is_flat(point: Point) -> bool:
        return abs(point.slope) <= -flatness * start.slope

    # First go outwards, until a point is good or there must be a good one between the last two.
    before, point = start, evaluate(t)
    rounds = 0
    while rounds < limit:
        if falls_too_little(point) or (rounds > 1 and point.loss >= before.loss):
            break
        if is_flat(point):
            return point, rounds + 1
        if point.slope >= 0:
            break
        nearest, farthest = point.t + 0.01 * (point.t - before.t), point.t * 10
        following = cubic_minimum(before, point, nearest, farthest)
        before, point = point, evaluate(following)
        rounds += 1
    else:
        before = start

    # Then close in on it.
    low, high = (before, point) if before.loss <= point.loss else (point, before)
    evaluations = rounds + 1
    stuck = False
    while rounds < limit and abs(high.t - low.t) * length >= small:
        left, right = min(low.t, high.t), max(low.t, high.t)
        t = cubic_minimum(low, high, left, right)
        # A point too near to an end twice in a row, or beyond it, is moved inwards.
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        point = evaluate(t)
        rounds += 1
        evaluations += 1
        if falls_too_little(point) or point.loss >= low.loss:
            high = point
            if high.loss < low.loss:
                low, high = high, low
        elif is_flat(point):
            return point, evaluations
        else:
            if point.slope * (high.t - low.t) >= 0:
                high = low
            low = point
    return low, evaluations


def cubic_minimum(a: Point, b: Point, lowest: float, highest: float) -> float:
    """Where the cubic through two points, with their slopes, has its minimum, kept within bounds; their middle where there is none."""
    if a.t > b.t:
        a, b = b, a
    if a.t == b.t:
        return (lowest + highest) / 2
    d = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d * d - a.slope * b.slope
    bend = b.slope - a.slope + 2 * sqrt(square) if square >= 0 else 0.0
    if bend == 0:
        return (lowest + highest) / 2
    t = b.t - (b.t - a.t) * ((b.slope + sqrt(square) - d) / bend)
    return min(max(t, lowest), highest)


# ---- the search under the names by which optimizers of others call it ---------------------------------------------------------------


def _strong_wolfe(
    obj_func: Callable[..., Any], x: Any, t: Any, d: Tensor, f: Any, g: Tensor, gtd: Any, c1: float = ARMIJO, c2: float = WOLFE,
    tolerance_change: float = 1e-9, max_ls: int = 25,
) -> tuple[float, Tensor, float, int]:  # fmt: skip
    """Search from `x` along `d`, where `obj_func(x, t, d)` says loss and gradient: those at the point found, its `t`, the evaluations."""

    def evaluate(t: float) -> Point:
        loss, gradient = obj_func(x, t, d)
        return Point(t, number(loss), gradient.clone(), number(gradient.dot(d)))

    start = Point(0.0, number(f), g.clone(), number(gtd))
    found, evaluations = strong_wolfe(evaluate, start, number(t), d.abs().max().item(), tolerance_change, max_ls, c1, c2)
    return found.loss, found.gradient, found.t, evaluations


def _cubic_interpolate(x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: tuple[Any, Any] | None = None) -> float:
    """Where the cubic through two points, with their slopes, has its minimum; within bounds, or else between the points."""
    a, b = (Point(number(t), number(f), None, number(g)) for t, f, g in ((x1, f1, g1), (x2, f2, g2)))
    lowest, highest = map(number, bounds or sorted((a.t, b.t)))
    return cubic_minimum(a, b, lowest, highest)


# ---- parameters as a vector ---------------------------------------------------------------------------------------------------------


def flat_gradient(params: list[Tensor]) -> Vector:
    return np.concatenate([as_real(np.zeros_like(p._data) if p._grad is None else p._grad._data) for p in params])


def move(params: list[Tensor], t: float, direction: Vector) -> None:
    """Add `t` times a direction to the parameters."""
    site = make_tuple(StepSite, here())
    start = 0
    for param in params:
        size = param._data.size * (2 if param._data.dtype.kind == "c" else 1)
        step = direction[start : start + size] * t
        param._data += (step.view(param._data.dtype) if param._data.dtype.kind == "c" else step).reshape(param._data.shape)
        counter_of(param).bump(site)
        start += size


def as_real(array: Vector) -> Vector:
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def array_of(value: Any) -> Any:
    return value._data if isinstance(value, Tensor) else value
