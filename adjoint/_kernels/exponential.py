"""Exponentials, logarithms, powers and hyperbolic functions."""

from __future__ import annotations

import math
from fractions import Fraction

from .code import LN2, LN10, Code, Pair, Value, in_double, nearest, ordered_sum, product, with_short_head
from .polynomials import ATANH, COSH, EXP, EXP2, LOG, LOG_TAIL, SINH

# ---- exponentials -------------------------------------------------------------------------------------------------------------------


def split_exponent(c: Code, x: Value) -> tuple[str, Value, Value]:
    """x = n ln 2 + r + lost: an integer with n in its low bits, r with |r| < 0.35, and what rounding r lost."""
    high, low = with_short_head(LN2, c.kind)
    shifted = c.fma(x, 1 / math.log(2), c.facts.magic)
    whole = shifted - c.facts.magic
    most = c.fma(whole, -high, x)
    r = c.fma(whole, -low, most)
    return c.bits(shifted), r, c.fma(whole, -low, most - r)


def power_of_two(c: Code, n: str, more: int = 0) -> Value:
    """2**(n + more), of which only the low bits of n count."""
    return c.from_bits(c.integer("shl", c.integer("add", n, c.facts.bias + more), c.facts.mantissa))


def exp_minus_one_near_zero(c: Code, r: Value) -> Value:
    """exp(r) - 1 for |r| < 0.35."""
    return c.fma(r * r, c.polynomial(r, EXP), r)


def clamped(c: Code, x: Value, low: float, high: float) -> Value:
    """x, brought into a range; NaN stays NaN."""
    x = c.select(c.compare("olt", x, low), low, x)
    return c.select(c.compare("ogt", x, high), high, x)


def negligible(c: Code, x: Value) -> str:
    """Whether 1 + x rounds to 1: then exp(x) - 1 and log(1 + x) are x itself, the sign of zero included."""
    return c.compare("olt", abs(x), 2.0 ** -(c.facts.mantissa + 2))


def scaled(c: Code, twice: Value, n: str, subnormal: str) -> Value:
    """twice 2**(n - 1): half the power, for 2**n may be too large where the product is not. Where the result may be subnormal, the power is
    made larger and the result smaller."""
    raised = c.facts.mantissa + 2
    n = c.let(f"select i1 {subnormal}, {c.facts.int} {c.integer('add', n, raised)}, {c.facts.int} {n}")
    return twice * power_of_two(c, n, -1) * c.select(subnormal, 2.0**-raised, 1.0)


def may_be_subnormal(c: Code, x: Value) -> str:
    """Whether exp(x) may be a subnormal number."""
    return c.compare("olt", x, math.log(2) * (2 - c.facts.bias))


def exp(c: Code, x: Value) -> Value:
    x = clamped(c, x, c.facts.smallest, c.facts.largest + 0.1)
    n, r, _ = split_exponent(c, x)
    return scaled(c, c.fma(exp_minus_one_near_zero(c, r), 2.0, 2.0), n, may_be_subnormal(c, x))


def exp_negative(c: Code, x: Value) -> Value:
    """exp(x) for x <= 0 (and somewhat above), where what would be subnormal may as well be 0: half the work."""
    n, r, _ = split_exponent(c, x)
    power = power_of_two(c, n)
    return c.select(c.compare("olt", x, math.log(2) * (1 - c.facts.bias)), 0.0, c.fma(exp_minus_one_near_zero(c, r), power, power))


def exp2_range(c: Code) -> tuple[float, float]:
    """At these numbers, and beyond them, 2**x is 0 and infinite, to the precision that is asked for."""
    return (-(c.facts.bias + c.facts.mantissa), c.facts.bias + 1.0) if c.exact else (-200.0, 200.0)


def exp2_of(c: Code, x: Value, rest: Value | None = None) -> Value:
    """2**(x + rest) for x within that range, and a small rest."""
    shifted = x + c.facts.magic
    r = x - (shifted - c.facts.magic)
    if rest is not None:
        r = r + rest
    near = r * c.polynomial(r, EXP2)
    if not c.exact:
        power = power_of_two(c, c.bits(shifted))
        return c.fma(near, power, power)
    return scaled(c, c.fma(near, 2.0, 2.0), c.bits(shifted), c.compare("olt", x, 2.0 - c.facts.bias))


def exp2(c: Code, x: Value) -> Value:
    return exp2_of(c, clamped(c, x, *exp2_range(c)))


def expm1(c: Code, x: Value) -> Value:
    n, r, lost = split_exponent(c, clamped(c, x, -60.0, c.facts.largest + 0.2))
    near, more = ordered_sum(r, r * r * c.polynomial(r, EXP))
    # 2**n (near + 1) - 1, with half the power of two, which does not overflow before the result does.
    half = power_of_two(c, n, -1)
    result = c.fma(half, more + lost, c.fma(half, near, half - 0.5)) * 2.0
    return c.select(negligible(c, x), x, result)


# ---- hyperbolic functions -----------------------------------------------------------------------------------------------------------


def tanh(c: Code, x: Value) -> Value:
    """e / (e + 2) with e = exp(2|x|) - 1, corrected for what rounding e, e + 2 and the quotient lost."""
    size = abs(x)
    n, r, lost = split_exponent(c, clamped(c, size, 0.0, 22.0) * 2.0)
    power = power_of_two(c, n)
    near, more = ordered_sum(r, r * r * c.polynomial(r, EXP))
    e = c.fma(power, near, power - 1.0)
    lost = (lost + more) * power
    below = e + 2.0
    part = below - e  # of 2, as far as it is in the sum
    lost_below = (e - (below - part)) + (2.0 - part) + lost
    quotient = e / below
    rest = c.fma(-quotient, below, e) + lost - quotient * lost_below
    return c.copysign(quotient + rest / below, x)


def hyperbolic_parts(c: Code, size: Value) -> tuple[Value, Value, Value, Value, Value]:
    """For a size n ln 2 + r: exp(n ln 2) / 4, exp(-n ln 2) / 4, r, sinh(r) - r and cosh(r) - 1."""
    end = c.facts.largest + 0.8
    n, r, lost = split_exponent(c, c.select(c.compare("ogt", size, end), end, size))
    up = power_of_two(c, n, -2)
    down = power_of_two(c, c.integer("sub", "0", n), -2)
    down = c.select(c.compare("ogt", size, 50.0), 0.0, down)
    z = r * r
    beyond = c.fma(r * z, c.polynomial(z, SINH), lost)
    return up, down, r, beyond, z * c.fma(z, c.polynomial(z, COSH), 0.5)


def sinh(c: Code, x: Value) -> Value:
    """Of n ln 2 + r by the addition theorem."""
    up, down, r, sinh_rest, cosh_rest = hyperbolic_parts(c, abs(x))
    s, ch = up - down, up + down
    most, more = product(c, ch, r)
    total, lost = ordered_sum(s, most)
    result = total + ((lost + more) + c.fma(s, cosh_rest, ch * sinh_rest))
    return c.select(negligible(c, x), x, c.copysign(result * 2.0, x))


def cosh(c: Code, x: Value) -> Value:
    up, down, r, sinh_rest, cosh_rest = hyperbolic_parts(c, abs(x))
    rising, falling = r + (cosh_rest + sinh_rest), (cosh_rest - sinh_rest) - r  # exp(r) - 1 and exp(-r) - 1
    return (up + c.fma(up, rising, c.fma(down, falling, down))) * 2.0


# ---- logarithms ---------------------------------------------------------------------------------------------------------------------


def normalised(c: Code, x: Value, may_be_subnormal: bool = True) -> Pair:
    """x = 2**n (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), for positive x: n and f."""
    facts = c.facts
    bias: Value | float = 2.0**facts.mantissa + facts.bias
    if may_be_subnormal:
        shift = facts.mantissa + 1.0
        small = c.compare("olt", x, facts.tiny)
        x = c.select(small, x * 2.0**shift, x)
        bias = c.select(small, bias + shift, bias)
    root = c.bits(math.sqrt(0.5))
    offset = c.integer("sub", c.bits(x), root)
    # The exponent as a positive integer, read as the low bits of a number.
    n = c.integer("lshr", c.integer("add", offset, facts.bias << facts.mantissa), facts.mantissa)
    count = c.from_bits(c.integer("or", n, c.bits(2.0**facts.mantissa))) - bias
    fraction = c.integer("add", c.integer("and", offset, (1 << facts.mantissa) - 1), root)
    return count, c.from_bits(fraction) - 1.0


def log_parts(c: Code, f: Value) -> tuple[Value, Value, Value]:
    """log(1 + f) = f - half + s * rest: half, s and rest, from 2 atanh(s) with s = f / (2 + f)."""
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    return half, s, c.fma(z, c.polynomial(z, LOG), half)


def log_one_plus(c: Code, n: Value, f: Value, correction: Value | float) -> Value:
    """n ln 2 + log(1 + f) + correction, arranged so that the large terms are added last."""
    high, low = with_short_head(LN2, c.kind)
    half, s, rest = log_parts(c, f)
    small = c.fma(s, rest, c.fma(n, low, correction))
    return c.fma(n, high, f - (half - small))


def log_and_rest(c: Code, n: Value, f: Value, correction: Value | float) -> Pair:
    """The same, and what rounding lost."""
    high, low = with_short_head(LN2, c.kind)
    half, s, rest = log_parts(c, f)
    return ordered_sum(n * high, f - (half - c.fma(s, rest, c.fma(n, low, correction))))


def log(c: Code, x: Value) -> Value:
    n, f = normalised(c, x)
    return special_logs(c, log_one_plus(c, n, f, 0.0), x, 0.0)


def log1p(c: Code, x: Value) -> Value:
    u = x + 1.0
    n, f = normalised(c, u, may_be_subnormal=False)
    # What rounding 1 + x lost, relative to it.
    lost = c.select(c.compare("oge", x, 1.0), 1.0 - (u - x), x - (u - 1.0)) / u
    result = log_one_plus(c, n, f, lost)
    result = c.select(negligible(c, x), x, result)
    return special_logs(c, result, x, -1.0)


def special_logs(c: Code, result: Value, x: Value, edge: float) -> Value:
    """The logarithm at the edge of its domain (-inf), outside it (NaN), at infinity and at NaN (the same)."""
    result = c.select(c.compare("oeq", x, edge), -math.inf, result)
    result = c.select(c.compare("oeq", x, math.inf), math.inf, result)
    return c.select(c.compare("ult", x, edge), math.nan, result)


def log_to_base(c: Code, x: Value, base: Fraction) -> Value:
    """The logarithm of x for a base of which the natural logarithm is given."""
    n, f = normalised(c, x)
    half, s, rest = log_parts(c, f)
    total, lost = ordered_sum(f, c.fma(s, rest, -half))
    factor, factor_rest = nearest(1 / base, c.kind)
    high, low = with_short_head(LN2 / base, c.kind)
    most, more = product(c, total, factor)
    more = c.fma(lost, factor, c.fma(total, factor_rest, more))
    result, rest = ordered_sum(n * high, most)
    return special_logs(c, result + (rest + c.fma(n, low, more)), x, 0.0)


def log2(c: Code, x: Value) -> Value:
    return log_to_base(c, x, LN2)


def log10(c: Code, x: Value) -> Value:
    return log_to_base(c, x, LN10)


# ---- powers -------------------------------------------------------------------------------------------------------------------------


def precise_log2(c: Code, x: Value) -> tuple[Value, Value | None]:
    """log2(x) for positive x with some bits more than its type has: a number and a correction, the latter only where all bits count."""
    n, f = normalised(c, x, may_be_subnormal=c.exact)
    if not c.exact:
        half, s, rest = log_parts(c, f)
        return c.fma(f - (half - s * rest), 1 / math.log(2), n), None
    # 2 atanh(s) = 2 s (1 + z (1/3 + z tail)) with z = s**2, every step with what rounding lost.
    below, below_lost = ordered_sum(1.0, f + 1.0)
    s = f / below
    s_lost = (c.fma(-s, below, f) - s * below_lost) / below
    z, z_lost = product(c, s, s)
    z_lost = c.fma(s + s, s_lost, z_lost)
    third, third_rest = nearest(Fraction(1, 3), c.kind)
    slope, slope_lost = ordered_sum(third, z * c.polynomial(z, LOG_TAIL))
    slope_lost = slope_lost + third_rest
    t, t_lost = product(c, z, slope)
    t_lost = t_lost + c.fma(z, slope_lost, z_lost * slope)
    p, p_lost = product(c, s, t)
    p_lost = p_lost + c.fma(s, t_lost, s_lost * t)
    total, lost = ordered_sum(s, p)
    lost = lost + (p_lost + s_lost)
    factor, factor_rest = nearest(2 / LN2, c.kind)
    most, more = product(c, total, factor)
    more = more + c.fma(lost, factor, total * factor_rest)
    result, rest = ordered_sum(n, most)
    return result, rest + more


@in_double
def power(c: Code, x: Value, y: Value) -> Value:
    """2**(y log2|x|); the sign and the exceptions are those of C's pow."""
    size = abs(x)
    log, log_rest = precise_log2(c, size)
    log = c.select(c.compare("oeq", size, 0.0), -math.inf, log)
    log = c.select(c.compare("olt", size, math.inf), log, size)
    exponent = y * log
    low, high = exp2_range(c)
    rest = None
    if log_rest is not None:
        rest = c.fma(y, log_rest, c.fma(y, log, -exponent))
        rest = c.select(c.both(c.compare("oge", exponent, low), c.compare("ole", exponent, high)), rest, 0.0)
    result = exp2_of(c, clamped(c, exponent, low, high), rest)
    result = c.select(c.either(c.compare("oeq", size, 1.0), c.compare("oeq", y, 0.0)), 1.0, result)
    whole = c.compare("oeq", c.rint(y), y)
    half = y * 0.5
    odd = c.both(whole, c.compare("une", c.rint(half), half))
    result = c.copysign(result, c.select(odd, x, Value(c, c.number(1.0))))
    negative = c.both(c.compare("olt", x, 0.0), c.compare("ogt", x, -math.inf))
    fraction = c.let(f"xor i1 {whole}, true")
    return c.select(c.both(negative, fraction), math.nan, result)


# ---- inverse hyperbolic functions ---------------------------------------------------------------------------------------------------


def log_of_sum(c: Code, larger: Value, smaller: Value, lost: Value, size: Value) -> Value:
    """log(larger + smaller + lost), not less than 0; log(2 size) where the size is so large that its square does not matter."""
    u, more = ordered_sum(larger, smaller)
    lost = lost + more
    huge = c.compare("ogt", size, 2.0 ** (c.facts.mantissa // 2 + 4))
    u = c.select(huge, size, u)
    lost = c.select(huge, 0.0, lost)
    n, f = normalised(c, u, may_be_subnormal=False)
    result = log_one_plus(c, n + c.select(huge, 1.0, 0.0), f, lost / u)
    return c.select(c.compare("olt", size, math.inf), result, size)


def root_and_rest(c: Code, square: Value, lost: Value) -> Pair:
    """The square root of a sum of two numbers."""
    root = c.sqrt(square)
    return root, (c.fma(-root, root, square) + lost) / (root + root)


def arcsinh(c: Code, x: Value) -> Value:
    """log(|x| + sqrt(x² + 1))."""
    size = abs(x)
    square, lost = product(c, size, size)
    # The order of the sum does not matter: where the square is the larger one, all that is lost is below the last bit of the result.
    total = square + 1.0
    bigger = c.compare("ogt", square, 1.0)
    lost = lost + c.select(bigger, 1.0 - (total - square), square - (total - 1.0))
    root, rest = root_and_rest(c, total, lost)
    return c.copysign(log_of_sum(c, root, size, rest, size), x)


def arccosh(c: Code, x: Value) -> Value:
    """log(x + sqrt(x² - 1))."""
    square, lost = product(c, x, x)
    total = square - 1.0
    lost = lost + ((square - total) - 1.0)
    root, rest = root_and_rest(c, total, lost)
    result = log_of_sum(c, x, root, rest, x)
    result = c.select(c.compare("oeq", x, 1.0), 0.0, result)
    return c.select(c.compare("olt", x, 1.0), math.nan, result)


def arctanh(c: Code, x: Value) -> Value:
    """Half the logarithm of (1 + x) / (1 - x) = 2**n (1 + s) / (1 - s), so that s = ((1 + x) - 2**n (1 - x)) / ((1 + x) + 2**n (1 - x))."""
    size = abs(x)
    up, up_lost = size + 1.0, size - ((size + 1.0) - 1.0)
    down, down_lost = 1.0 - size, (1.0 - (1.0 - size)) - size
    third = (1 << c.facts.mantissa) // 3  # so much is added before cutting off: near n = 1/2, where terms would cancel, n becomes 0
    n = c.integer("lshr", c.integer("add", c.integer("sub", c.bits(up), c.bits(down)), third), c.facts.mantissa)
    power = power_of_two(c, n)
    s = (c.fma(-power, down, up) + c.fma(-power, down_lost, up_lost)) / c.fma(power, down, up)
    z = s * s
    high, low = with_short_head(LN2 / 2, c.kind)
    count = c.from_bits(c.integer("or", n, c.bits(2.0**c.facts.mantissa))) - 2.0**c.facts.mantissa
    small = c.fma(s * z, c.polynomial(z, ATANH), count * low)
    most, lost = ordered_sum(count * high, s)
    result = most + (lost + small)
    result = c.select(c.compare("oeq", size, 1.0), math.inf, result)
    result = c.select(c.compare("ule", size, 1.0), result, math.nan)
    return c.copysign(result, x)
