"""Partial derivatives of any order at many points.

A derivative of order q along a direction v is a sum of the partial derivatives of that order,

    D_v^q u = sum over a of q! / (a1! ... ad!) * v1^a1 ... vd^ad * (the partial derivative a of u),

and Taylor mode gives it for all orders up to q in one pass. So any partial derivative is a combination of derivatives along a few
directions, whose weights solve a small linear system (Griewank, Utke and Walther, 2000). u_xx and u_yy take one direction each, u_xy
takes (1, 1) and either (1, -1) or, where u_xx and u_yy are wanted anyway, nothing else.

Reverse mode raises the order of a directional derivative by one in all variables at once. It costs about three passes, and is taken where
that is less: for gradients and Hessians in three or more variables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..ops._registry import FUNCTIONS
from ._grad import grad
from ._jet import jet
from ._vmap import vmap

Index = tuple[int, ...]  # how often to differentiate by each variable
Direction = tuple[int, ...]

REVERSE_COST = 3.0  # of a gradient, in evaluations of the function
REVERSED_ORDERS = 2  # the orders for which reverse mode is considered: beyond, the graph of a series is larger than more directions


class Plan(NamedTuple):
    """Which directional derivatives to compute, and how to combine them."""

    orders: dict[Direction, int]  # the highest order that is needed along each direction
    weights: dict[Index, dict[Direction, float]]
    cost: float


def derivatives(u: Callable[[Any], Any], x: Tensor, orders: Iterable[int | Sequence[int]]) -> list[Any]:
    """Partial derivatives of `u` at many points: for each entry of `orders`, a tensor of the shape of `u(x)`.

    The points are the rows of `x`, their coordinates its columns, and `u` treats each point by itself. An entry such as (2, 0) or (1, 1)
    says how often to differentiate by each coordinate; (0, 0) is the value. Where entries are plain numbers there is one variable, and
    `x` may have any shape.

    >>> import adjoint as ad
    >>> points = ad.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> ad.func.derivatives(lambda p: p[:, 0] ** 3 * p[:, 1], points, [(2, 0), (1, 1)])
    [tensor([12., 72.]), tensor([ 3., 27.])]
    """
    wanted = [(order,) if isinstance(order, int) else tuple(order) for order in orders]
    plain = all(len(index) == 1 for index in wanted)
    count = check_orders(x, wanted, plain)
    needed = tuple(sorted({index for index in wanted if sum(index)}))
    if not needed:
        value = u(x)
        return [value for _ in wanted]
    forward, reverse = plan_of(needed), plan_below(needed)
    if reverse.cost < forward.cost and one_number_each(u, x):
        values = by_reverse(u, x, reverse)
    else:
        found = along(u, x, forward)
        values = {(0,) * count: next(iter(found.values()))[0], **combined(forward, found)}
    return [values[index] for index in wanted]


def check_orders(x: Any, wanted: list[tuple[Any, ...]], plain: bool) -> int:
    """The number of variables."""
    if not isinstance(x, Tensor) or not x.is_floating_point():
        raise RuntimeError(f"derivatives(u, x, orders): Expected x to be a floating-point Tensor, got {getattr(x, 'dtype', type(x))}")
    if not wanted or not all(isinstance(n, int) and n >= 0 for index in wanted for n in index):
        raise RuntimeError(f"derivatives(u, x, orders): Expected orders to be a list such as [1, 2] or [(2, 0), (1, 1)], got {wanted}")
    if plain:
        return 1
    if x.ndim != 2 or any(len(index) != x.shape[1] for index in wanted):
        raise RuntimeError(
            "derivatives(u, x, orders): Expected x to be points in rows and, in each order, a number for each column: "
            f"x has shape {list(x.shape)}, the orders are {wanted}"
        )
    return int(x.shape[1])


# ---- plans --------------------------------------------------------------------------------------------------------------------------


@cache
def plan_of(needed: tuple[Index, ...]) -> Plan:
    """Few directions that determine all the derivatives that are needed."""
    simple_first = sorted({v for index in needed for v in candidates(index)}, key=lambda v: (sum(map(abs, v)), v))
    return min((reduced(needed, simple_first), reduced(needed, simple_first[::-1])), key=lambda plan: plan.cost)


def reduced(needed: tuple[Index, ...], directions: list[Direction]) -> Plan:
    """A plan without the directions that the others can replace; the first ones stay."""
    for direction in reversed(directions):
        rest = [v for v in directions if v != direction]
        if all(combination(index, rest) is not None for index in needed if within(direction, index)):
            directions = rest
    orders: dict[Direction, int] = {}
    weights = {}
    for index in needed:
        found = combination(index, directions)
        assert found is not None
        weights[index] = found
        for v in found:
            orders[v] = max(orders.get(v, 0), sum(index))
    return Plan(orders, weights, 1 + float(sum(orders.values())))


def within(direction: Direction, index: Index) -> bool:
    """Whether a direction moves only variables by which an index differentiates."""
    return all(index[i] for i, n in enumerate(direction) if n)


def candidates(index: Index) -> set[Direction]:
    """Directions with small whole components, no two of them parallel."""
    found = set()
    for v in product(*(range(-n, n + 1) for n in index)):
        first = next((n for n in v if n), 0)
        if first > 0 and math.gcd(*v) == 1:
            found.add(v)
    return found


@cache
def monomials(order: int, variables: int) -> list[Index]:
    """All partial derivatives of some order."""
    if variables == 1:
        return [(order,)]
    return [(n, *rest) for n in range(order + 1) for rest in monomials(order - n, variables - 1)]


def combination(index: Index, directions: list[Direction]) -> dict[Direction, float] | None:
    """The weights with which derivatives along some directions add up to a partial derivative; None where they cannot."""
    variables = [i for i, n in enumerate(index) if n]
    usable = [v for v in directions if within(v, index)]
    if not usable:
        return None
    order = sum(index)
    rows = monomials(order, len(variables))
    matrix = np.array([[share(row, [v[i] for i in variables]) for v in usable] for row in rows])
    target = np.array([float(row == tuple(index[i] for i in variables)) for row in rows])
    weights = np.linalg.lstsq(matrix, target, rcond=None)[0]
    if np.abs(matrix @ weights - target).max() > 1e-9:
        return None
    exact = [float(Fraction(w).limit_denominator(10**6)) for w in weights]  # they are simple fractions
    return {v: w for v, w in zip(usable, exact, strict=True) if w}


def share(index: Index, direction: Sequence[int]) -> float:
    """The factor of a partial derivative in the directional one."""
    factor = float(math.factorial(sum(index)))
    for n, component in zip(index, direction, strict=True):
        factor *= component**n / math.factorial(n)
    return factor


@cache
def plan_below(needed: tuple[Index, ...]) -> Plan:
    """The plan for derivatives of one order less, of which gradients are taken. It stands for the values themselves too, as the zeroth."""
    if max(map(sum, needed)) > REVERSED_ORDERS:
        return Plan({}, {}, math.inf)
    uses = [sum(index[i] > 0 for index in needed) for i in range(len(needed[0]))]
    rest = set()
    for index in needed:
        # What remains is a derivative by a variable that many others have in common, so that they share it.
        by = min((i for i, n in enumerate(index) if n), key=lambda i: (uses[i], -i))
        rest.add(without(index, by))
    below = plan_of(tuple(sorted(part for part in rest if sum(part))))
    return below._replace(cost=REVERSE_COST * below.cost)


def without(index: Index, variable: int) -> Index:
    """One derivative less by a variable."""
    return tuple(n - (i == variable) for i, n in enumerate(index))


# ---- execution ----------------------------------------------------------------------------------------------------------------------


def along(u: Callable[[Any], Any], x: Tensor, plan: Plan) -> dict[Direction, list[Any]]:
    """The value of u and its derivatives, along all directions of a plan. Those of the same order go together, as a batch."""
    groups: dict[int, list[Direction]] = {}
    for direction, order in plan.orders.items():
        groups.setdefault(order, []).append(direction)
    highest = max(groups)
    if 1 + highest * len(plan.orders) < len(groups) + sum(plan.orders.values()):
        groups = {highest: list(plan.orders)}
    found = {}
    for order, directions in groups.items():
        rest = [0.0] * (order - 1)  # the paths are straight
        if len(directions) == 1:
            value, terms = jet(u, (x,), ([towards(x, directions[0]), *rest],))
            found[directions[0]] = [value, *terms]
        else:
            value, terms = vmap(pushing(u, x, rest), out_dims=(None, 0))(x.new_tensor(directions))
            found |= {v: [value, *(term[place] for term in terms)] for place, v in enumerate(directions)}
    return found


def pushing(u: Callable[[Any], Any], x: Tensor, rest: list[float]) -> Callable[[Tensor], Any]:
    return lambda direction: jet(u, (x,), ([direction.expand(x.shape), *rest],))


def towards(x: Tensor, direction: Direction) -> Tensor:
    return x.new_full(x.shape, direction[0]) if len(direction) == 1 else x.new_tensor(direction).expand(x.shape)


def combined(plan: Plan, found: dict[Direction, list[Any]]) -> dict[Index, Any]:
    """The partial derivatives from those along the directions."""
    result = {}
    for index, weights in plan.weights.items():
        terms = [found[v][sum(index)] if weight == 1 else found[v][sum(index)] * weight for v, weight in weights.items()]
        result[index] = sum(terms[1:], terms[0])
    return result


def one_number_each(u: Callable[[Any], Any], x: Tensor) -> bool:
    """Whether u has one result for each point, as a gradient needs it."""
    with no_grad():
        return bool(u(x).numel() == len(x))


def by_reverse(u: Callable[[Any], Any], x: Tensor, plan: Plan) -> dict[Index, Any]:
    """Forward over reverse: the derivatives of the value and of the gradient, side by side as columns."""
    shape: list[Any] = []

    def summed(y: Any) -> Any:
        value = u(y)
        shape[:] = value.shape
        return value.sum(), value.reshape(-1, 1)

    def value_and_slopes(y: Any) -> Any:
        slopes, value = grad(summed, has_aux=True)(y)
        return FUNCTIONS["cat"]([value, slopes], 1)

    start = (0,) * int(x.shape[1])
    if plan.orders:
        found = along(value_and_slopes, x, plan)
        columns = {start: next(iter(found.values()))[0], **combined(plan, found)}
    else:
        columns = {start: value_and_slopes(x)}
    values: dict[Index, Any] = {}
    for part, table in columns.items():
        values[part] = table[:, 0].reshape(shape)
        for i in range(len(start)):
            values[tuple(n + (j == i) for j, n in enumerate(part))] = table[:, 1 + i].reshape(shape)
    return values
