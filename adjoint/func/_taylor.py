"""Taylor series through ops.

Let y(t) = f(x(t)). Its derivative along t is what the op's rule of forward mode gives for the derivative of x, so

    y' = jvp(x, x')         evaluated with series up to order n - 1 gives y up to order n.

That is all an op needs (`by_its_rule`): it is declared with that rule already. Where the rule names no result it runs once; a rule that
names its own result, as that of exp does, runs once for each order. The functions on which the others rest have recurrences instead, which
take n² products of terms. (Griewank and Walther, Evaluating Derivatives, chapter 13.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._dtype import from_numpy_dtype
from .._layer import Level, lowered_indices
from .._tensor import Tensor, wrap
from ..ops._registry import FUNCTIONS, LINEAR, MULTILINEAR, Op, parameters
from ..ops._rules import normalize_dims
from ..ops._tangents import tangents_of
from ._series import Series, Terms, cut, from_rate, minus, plus, rate, rates, scaled, times, unpacked


def terms_of(level: Level, op: Op, operands: list[Any], values: dict[str, Any], outs: tuple[Tensor, ...], order: int) -> list[Terms | None]:
    """The terms of the results of an op, up to some order."""
    pairs = [unpacked(level, x) for x in operands]
    if all(terms is None or all(term is None for term in terms[:order]) for _, terms in pairs):
        return [[None] * order for _ in outs]
    recurrence = RECURRENCES.get(op.name)
    if recurrence is not None:
        with level.below():
            series = [[x, *(terms or [None] * order)[:order]] for x, terms in pairs]
            facts = {**values, **dict(zip(op.inputs, series, strict=True)), "out": outs[0]}
            found = recurrence(*(facts[name] for name in parameters(recurrence)))
            return [[fitted(term, outs[0]) for term in found[1:]]]
    if op.jvp == LINEAR or (op.name in PIECEWISE_LINEAR and not any(is_complex(x) for x in operands)):
        return term_by_term(level, op, pairs, values, outs, order)
    factors = op.inputs if op.jvp == MULTILINEAR else FACTORS.get(op.name)
    if factors is not None:
        return [by_products(level, op, factors, pairs, values, outs[0], order)]
    if op.name in FORMULAS:
        formula = FORMULAS[op.name]
        facts = {**values, **dict(zip(op.inputs, operands, strict=True))}
        result = formula(*(facts[name] for name in parameters(formula)))
        if result is not None:
            return [[fitted(term, outs[0]) for term in (unpacked(level, result)[1] or [None] * order)[:order]]]
    return by_its_rule(level, op, operands, values, outs, order)


def fitted(term: Any, out: Tensor) -> Any:
    """A term in the shape and dtype of the result: an operand that is broadcast has smaller ones."""
    if term is None:
        return None
    term = term if term._data.shape == out._data.shape else term.expand(out.shape)
    return term if term._data.dtype == out._data.dtype else term.to(from_numpy_dtype(out._data.dtype))


def is_complex(x: Any) -> bool:
    return isinstance(x, Tensor) and x.is_complex()


def names_result(op: Op) -> bool:
    """Whether the rule of forward mode needs the result itself."""
    rules = [op.jvp] if callable(op.jvp) else op.rules.values()
    return any("out" in parameters(rule) for rule in rules)


def by_its_rule(
    level: Level, op: Op, operands: list[Any], values: dict[str, Any], outs: tuple[Tensor, ...], order: int
) -> list[Terms | None]:  # fmt: skip
    if not names_result(op):
        known = tuple(wrap(Series(level, out)) for out in outs)  # of which the rule takes shape and dtype
        slopes = tangents_of(
            op, [cut(level, x, order - 1) for x in operands], values, known, [rate(level, x, order - 1) for x in operands]
        )
        return [from_rate(level, slope, order) for slope in slopes]
    found: list[Terms | None] = [[] for _ in outs]
    for k in range(order):
        known = tuple(wrap(Series(level, out, terms)) for out, terms in zip(outs, found, strict=True))
        slopes = tangents_of(op, [cut(level, x, k) for x in operands], values, known, [rate(level, x, k) for x in operands])
        found = [from_rate(level, slope, k + 1) for slope in slopes]
    return found


def term_by_term(
    level: Level, op: Op, pairs: list[tuple[Any, Terms | None]], values: dict[str, Any], outs: tuple[Tensor, ...], order: int
) -> list[Terms | None]:  # fmt: skip
    """A function that is linear near the point does with each term what it does with a tangent."""
    primals, values = [x for x, _ in pairs], lowered_indices(level, values)
    results: list[Terms] = [[] for _ in outs]
    with level.below():
        for k in range(order):
            tangents = [None if terms is None else terms[k] for _, terms in pairs]
            known = any(tangent is not None for tangent in tangents)
            found = tangents_of(op, primals, values, outs, tangents) if known else [None] * len(outs)
            for terms, term in zip(results, found, strict=True):
                terms.append(term)
    return [*results]


def by_products(
    level: Level, op: Op, factors: tuple[str, ...], pairs: list[tuple[Any, Terms | None]], values: dict[str, Any], out: Tensor, order: int
) -> Terms:  # fmt: skip
    """A product of two operands, to which others may be added: the products of all terms whose orders add up."""
    left, right = (op.inputs.index(name) for name in factors)
    a, b = ([x, *(terms or [None] * order)] for x, terms in (pairs[left], pairs[right]))
    primals = [x for x, _ in pairs]

    def term(k: int) -> Any:
        total = None
        for j in range(k + 1):
            if a[j] is not None and b[k - j] is not None:
                total = plus(total, multiplied(a[j], b[k - j]))
        others = [None if terms is None or slot in (left, right) else terms[k - 1] for slot, (_, terms) in enumerate(pairs)]
        if any(other is not None for other in others):
            total = plus(total, tangents_of(op, primals, values, (out,), others)[0])
        return fitted(total, out)

    def multiplied(x: Any, y: Any) -> Any:
        if all(name in factors or name in op.optional for name in op.inputs):
            operands = [None] * len(primals)
            operands[left], operands[right] = x, y
            return op.on(operands, values)
        tangents = [None] * len(primals)
        tangents[right] = y
        return tangents_of(op, [x if slot == left else primal for slot, primal in enumerate(primals)], values, (out,), tangents)[0]

    with level.below():
        return [term(k) for k in range(1, order + 1)]


# ---- recurrences: from the value of the result, and the operands' series, each with its value first -----------------------------------


def convolved(a: Terms, b: Terms, k: int, first: int = 0, last: int | None = None) -> Any:
    """The sum of a[j] * b[k - j], of which some may be missing."""
    total = None
    for j in range(first, k + 1 if last is None else last + 1):
        x, y = a[j], b[k - j]
        if x is not None and y is not None:
            total = x * y if total is None else FUNCTIONS["addcmul"](total, x, y)
    return total


def squared(a: Terms, k: int) -> Any:
    """A term of the square of a series, whose products come in equal pairs."""
    total = scaled(convolved(a, a, k, 0, (k - 1) // 2), 2)
    return total if k % 2 else plus(total, times(a[k // 2], a[k // 2]))


def solved(y0: Any, x: Terms, slope: Callable[[Terms, int], Any]) -> Terms:
    """The solution of y' = slope(y) x', from the terms of the slope."""
    y, slopes, speed = [y0], [], rates(x[1:])
    for k in range(1, len(x)):
        slopes.append(slope(y, k - 1))
        y.append(scaled(convolved(speed, slopes, k - 1), 1 / k))
    return y


def solution(slope: Callable[[Terms, int], Any]) -> Callable[[Any, Terms], Terms]:
    return lambda out, input: solved(out, input, slope)


def wave(other: str, to: float, back: float) -> Callable[[Any, Terms], Terms]:
    """y' = to * z x' and z' = back * y x', where z is another function of x."""

    def recurrence(out: Any, input: Terms) -> Terms:
        y, z, speed = [out], [FUNCTIONS[other](input[0])], rates(input[1:])
        for k in range(1, len(input)):
            y.append(scaled(convolved(speed, z, k - 1), to / k))
            z.append(scaled(convolved(speed, y, k - 1), back / k) if k < len(input) - 1 else None)
        return y

    return recurrence


def logarithm(scale: float = 1.0, shift: float = 0.0) -> Callable[[Any, Terms], Terms]:
    """scale * log(shift + x), from x y' = x'."""

    def recurrence(out: Any, input: Terms) -> Terms:
        inverse = 1 / (input[0] + shift if shift else input[0])
        y: Terms = [None]  # of the natural logarithm, whose value is not needed
        for k in range(1, len(input)):
            speed = [None, *rates(y[1:])]
            y.append(times(minus(input[k], scaled(convolved(speed, input, k, 1, k - 1), 1 / k)), inverse))
        return [out, *(scaled(term, scale) for term in y[1:])]

    return recurrence


def square_root(out: Any, input: Terms) -> Terms:
    y, half = [out], 0.5 / out
    for k in range(1, len(input)):
        y.append(None)  # the term in question, which the sum leaves out
        y[k] = times(minus(input[k], squared(y, k)), half)
    return y


def quotient(out: Any, input: Terms, other: Terms) -> Terms:
    y = [out]
    for k in range(1, len(other)):
        y.append(minus(input[k], convolved(other, y, k, 1)))
        y[k] = None if y[k] is None else y[k] / other[0]
    return y


def product(out: Any, input: Terms, other: Terms) -> Terms:
    return [out, *(convolved(input, other, k) for k in range(1, len(input)))]


def power(out: Any, input: Terms, exponent: Any) -> Terms:
    """Whole powers by multiplication, which is right at zero too; others from x y' = exponent * x' y."""
    if isinstance(exponent, int | float) and exponent > 0 and exponent == int(exponent):
        return whole_power(input, int(exponent))
    zero = input[0] == 0 if isinstance(exponent, int | float) and exponent > 1 else None
    y, inverse = [out], 1 / input[0]
    for k in range(1, len(input)):
        total = None
        for j in range(1, k + 1):
            total = plus(total, scaled(times(input[j], y[k - j]), (exponent * j - (k - j)) / k))
        term = times(total, inverse)
        y.append(term if zero is None or term is None or k > exponent else FUNCTIONS["where"](zero, 0.0, term))
    return y


def whole_power(x: Terms, exponent: int) -> Terms:
    result: Terms | None = None
    while True:
        if exponent & 1:
            result = x if result is None else [convolved(result, x, k) for k in range(len(x))]
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result
        x = [squared(x, k) for k in range(len(x))]


def normalized(weights: Any, x: Terms, dims: tuple[int, ...]) -> tuple[Terms, Terms, Terms]:
    """The terms of softmax from its value, those of the derivative of log-softmax, and those of the derivative of logsumexp."""
    p, slopes, totals, speed = [weights], [], [], rates(x[1:])
    for k in range(len(x) - 1):
        mean = convolved(speed, p, k)
        totals.append(None if mean is None else mean.sum(dims, True))
        slopes.append(minus(speed[k], totals[k]))
        p.append(scaled(convolved(slopes, p, k), 1 / (k + 1)))
    return p, slopes, totals


def softmax(out: Any, input: Terms, dim: int) -> Terms:
    return normalized(out, input, (dim,))[0]


def log_softmax(out: Any, input: Terms, dim: int) -> Terms:
    slopes = normalized(out.exp(), input, (dim,))[1]
    return [out, *(scaled(slope, 1 / k) for k, slope in enumerate(slopes, 1))]


def logsumexp(out: Any, input: Terms, dim: Any, keepdim: bool) -> Terms:
    x, dims = input[0], normalize_dims(dim, input[0].ndim)
    kept = out if keepdim or not x.ndim else out.reshape(tuple(1 if d in dims else size for d, size in enumerate(x.shape)))
    totals = normalized((x - kept).exp(), input, dims)[2]
    return [out, *(None if total is None else (total / k).reshape(out.shape) for k, total in enumerate(totals, 1))]


def attention(out: Any, scores: Terms, mask: Terms, scale: float) -> Terms:
    return softmax(out, [None, *(plus(scaled(x, scale), y) for x, y in zip(scores[1:], mask[1:], strict=True))], -1)


def even(y: Terms, k: int) -> Any:
    """A term of 1 + y²."""
    return squared(y, k) if k else 1 + y[0] * y[0]


def odd(y: Terms, k: int) -> Any:
    """A term of 1 - y²."""
    return minus(None, squared(y, k)) if k else 1 - y[0] * y[0]


RECURRENCES: dict[str, Callable[..., Terms]] = {
    "add": lambda out, input, other: [out, *map(plus, input[1:], other[1:])],
    "sub": lambda out, input, other: [out, *map(minus, input[1:], other[1:])],
    "neg": lambda out, input: [minus(None, term) for term in input],
    "mul": product,
    "div": quotient,
    "reciprocal": lambda out, input: quotient(out, [None] * len(input), input),
    "pow_number": power,
    "sqrt": square_root,
    "rsqrt": lambda out, input: power(out, input, -0.5),
    "exp": solution(lambda y, k: y[k]),
    "exp2": solution(lambda y, k: scaled(y[k], math.log(2))),
    "expm1": solution(lambda y, k: y[k] if k else y[0] + 1),
    "log": logarithm(),
    "log1p": logarithm(shift=1.0),
    "log2": logarithm(1 / math.log(2)),
    "log10": logarithm(1 / math.log(10)),
    "sin": wave("cos", 1, -1),
    "cos": wave("sin", -1, 1),
    "sinh": wave("cosh", 1, 1),
    "cosh": wave("sinh", 1, 1),
    "tan": solution(even),
    "tanh": solution(odd),
    "sigmoid": solution(lambda y, k: minus(y[k], squared(y, k))),
    "softmax": softmax,
    "log_softmax": log_softmax,
    "logsumexp": logsumexp,
    "attention_weights": attention,
}

# ---- other kinds of ops -------------------------------------------------------------------------------------------------------------

# Products of these operands, to which the others are added.
FACTORS = {
    "linear": ("input", "weight"),
    "convolution": ("input", "weight"),
    "convolution_transposed": ("input", "weight"),
    "addmm": ("mat1", "mat2"),
    "addmv": ("mat", "vec"),
    "addbmm": ("batch1", "batch2"),
    "baddbmm": ("batch1", "batch2"),
    "addr": ("vec1", "vec2"),
}

# Real functions that are linear on each side of their kinks and jumps.
PIECEWISE_LINEAR = frozenset(
    """
    abs add_scaled amax amin ceil clamp_max clamp_min clamp_number clamp_tensor complex conj conj_physical copy copysign cummax_values
    cummin_values deg2rad div_rounded fill fill_diagonal fill_tensor floor floor_divide fmax fmin fmod frac hardsigmoid hardshrink hardtanh
    heaviside index_fill kthvalue_values l1_loss leaky_relu lerp_number masked_fill masked_fill_tensor max_all max_pool2d_values
    max_pool3d_values max_values maximum median_all median_values min_all min_values minimum mode_values nan_to_num nanmedian_all
    nanmedian_values nansum nll_loss rad2deg relu remainder round round_decimals rsub scatter_value sgn sign softshrink sub_scaled threshold
    trunc where adaptive_max_pool2d_values adaptive_max_pool3d_values fractional_max_pool2d_values fractional_max_pool3d_values as_strided
    """.split()
)


def multiplied_along(input: Any, dim: int, keepdim: bool) -> Any:
    """The product along a dimension, of halves with halves."""
    size = input.shape[dim]
    if not size:
        return input.sum(dim, keepdim) + 1
    while size > 1:
        half = size // 2
        pairs = input.narrow(dim, 0, half) * input.narrow(dim, half, half)
        input = FUNCTIONS["cat"]([pairs, input.narrow(dim, 2 * half, 1)], dim) if size % 2 else pairs
        size = input.shape[dim]
    return input if keepdim else input.squeeze(dim)


def multiplied_to_one(input: Any) -> Any:
    return multiplied_along(input.reshape(-1), 0, False)


def length(x: Any, ord: float, dim: Any, keepdim: bool) -> Any:
    """The Euclidean norm of real vectors; others follow their rule."""
    return (x * x).sum(dim, keepdim).sqrt() if ord == 2 and not x.is_complex() else None


# By other ops, where their own rule would take n³.
FORMULAS: dict[str, Callable[..., Any]] = {
    "hypot": lambda input, other: (input * input + other * other).sqrt(),
    "pow": lambda input, exponent: None if is_constant(exponent) else FUNCTIONS["exp"](exponent * logarithm_of(input)),
    "prod_all": multiplied_to_one,
    "prod_dim": multiplied_along,
    "linalg_vector_norm": length,
    "std": lambda input, dim, correction, keepdim: FUNCTIONS["var"](input, dim, correction=correction, keepdim=keepdim).sqrt(),
}


def is_constant(x: Any) -> bool:
    return not isinstance(x, Tensor) or not isinstance(x._data, Series) or x._data.terms is None


def logarithm_of(x: Any) -> Any:
    return x.log() if isinstance(x, Tensor) else math.log(x)
