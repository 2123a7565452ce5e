"""Which of the usual mistakes a bad number in the forward pass looks like: a closed table, like that of gradients in autograd/nonfinite.py,
whose patterns it shares where they mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.nonfinite import LOGARITHMS, NORMALISATIONS, PATTERNS, SUMS, Case, Pattern, is_zero
from ..ops._registry import OPS
from .finding import numbers

PRODUCTS = ("mul", "mm", "bmm", "linear", "matmul_batched", "mv", "dot", "addmm", "baddbmm", "addmv", "addcmul", "convolution",
            "lerp_number")  # fmt: skip
DIFFERENCES = ("add", "sub", "rsub", "add_scaled", "sub_scaled", "cumsum", *SUMS)
MEANS = ("mean_all", "mean_dim")
FILLING = ("masked_fill", "masked_fill_tensor", "where", "fill", "fill_tensor", "index_fill", "index_put", "scatter_value", "scatter",
           "copy", "constant_pad_nd", "triu", "tril", "slice_scatter", "masked_scatter", "nan_to_num")  # fmt: skip
ARCS = ("acos", "asin", "atanh", "erfinv")

SHARED = {pattern.name: pattern for pattern in PATTERNS}


def shared(name: str) -> str:
    """The advice of a pattern of gradients."""
    return SHARED[name].advice


def half_overflow(c: Case) -> bool:
    return np.asarray(c.went_out).dtype == np.float16 and c.result(np.isinf) and not infinite_input(c)


def infinite_input(c: Case) -> bool:
    return any(np.isinf(value).any() for name, value in c.values.items() if name != "result")


def given_inf(c: Case) -> bool:
    """Whether an operand that is no result of anything, a number or a mask, holds the infinity."""
    return c.op in FILLING and not infinite_input(c)


FORWARD: tuple[Pattern, ...] = (
    Pattern(
        "log of softmax",
        lambda c: c.op in LOGARITHMS and c.input(is_zero) and c.near(c.before[:1], "softmax"),
        shared("log of softmax"),
    ),
    Pattern(
        "log of sigmoid",
        lambda c: c.op in LOGARITHMS and c.input(is_zero) and c.near(c.before[:2], "sigmoid"),
        shared("log of sigmoid"),
    ),
    Pattern(
        "log of a sum of exp",
        lambda c: c.op in LOGARITHMS and c.input(is_zero) and c.near(c.before[:1], *SUMS) and c.near(c.before[1:2], "exp"),
        shared("log of a sum of exp"),
    ),
    Pattern(
        "softmax of a row of -inf",
        lambda c: (c.op in ("softmax", "log_softmax") and c.result(np.isnan) and (c.input(np.isneginf) or "input" not in c.values))
        or (c.op == "logsumexp" and c.result(np.isneginf)),
        shared("softmax of a row of -inf"),
    ),
    Pattern(
        "log of a negative number",
        lambda c: c.op in LOGARITHMS and c.result(np.isnan) and c.input(lambda x: x < 0),
        "{op} of a negative number is nan: write x.clamp(min=1e-12).{op}(), and look where the negative number comes from",
    ),
    Pattern("log(0)", SHARED["log(0)"].holds, shared("log(0)")),
    Pattern("log1p(-1)", SHARED["log1p(-1)"].holds, shared("log1p(-1)")),
    Pattern("sqrt of a negative number", SHARED["sqrt of a negative number"].holds, shared("sqrt of a negative number")),
    Pattern("rsqrt(0)", SHARED["rsqrt(0)"].holds, shared("rsqrt(0)")),
    Pattern(
        "division by a norm of 0",
        lambda c: c.op == "div" and c.any("other", is_zero) and c.near(c.before[:3], "linalg_vector_norm"),
        "a vector of zeros has no direction: write torch.nn.functional.normalize(x, dim=dim), or x / x.norm(dim=dim).clamp(min=1e-12)",
    ),
    Pattern("division by zero", SHARED["division by zero"].holds, shared("division by zero")),
    Pattern(
        "pow(0, p < 0)",
        lambda c: c.op in ("pow", "pow_number") and c.input(is_zero) and c.any("exponent", lambda p: p < 0),
        "0 to a negative power is infinite: write x.clamp(min=1e-12) ** p",
    ),
    Pattern(
        "pow of a negative number",
        lambda c: c.op in ("pow", "pow_number") and c.result(np.isnan) and c.input(lambda x: x < 0),
        shared("pow of a negative number"),
    ),
    Pattern(
        "acos or asin outside [-1, 1]",
        lambda c: c.op in ARCS and c.result(np.isnan) and c.input(lambda x: np.abs(x) > 1),
        "{op} is defined from -1 to 1, and rounding led out of that: write x.clamp(-1 + 1e-6, 1 - 1e-6).{op}()",
    ),
    Pattern("acos or asin of ±1", SHARED["acos or asin of ±1"].holds, shared("acos or asin of ±1")),
    Pattern(
        "acosh below 1",
        lambda c: c.op == "acosh" and c.result(np.isnan),
        "acosh is defined from 1 on: write x.clamp(min=1 + 1e-6).acosh()",
    ),
    Pattern("logit of 0 or 1", SHARED["logit of 0 or 1"].holds, shared("logit of 0 or 1")),
    Pattern(
        "mean of no elements",
        lambda c: c.op in MEANS and any(np.size(value) == 0 for name, value in c.values.items() if name != "result"),
        "the mean of no elements is 0 / 0, as after a selection that is empty: write x.sum() / max(x.numel(), 1)",
    ),
    Pattern(
        "target is masked",
        lambda c: c.op in ("cross_entropy", "nll_loss") and c.result(np.isinf) and c.input(np.isneginf),
        "the score of a target is -inf, so its probability is 0: do not mask the classes that are targets, or leave those samples out",
    ),
    Pattern(
        "only ignored targets",
        lambda c: c.op in ("cross_entropy", "nll_loss") and c.result(np.isnan) and not infinite_input(c),
        "every target has the value ignore_index, so the mean is 0 / 0: leave such batches out, or use reduction='sum' and divide by "
        "(target != ignore_index).sum().clamp(min=1)",
    ),
    Pattern("std of one element", lambda c: c.op in ("std", "var") and not infinite_input(c), shared("std of one element")),
    Pattern(
        "float16 overflow",
        half_overflow,
        "float16 ends at 65504: compute this in float32 (x.float()), or use bfloat16, as in torch.autocast('cpu', dtype=torch.bfloat16)",
    ),
    Pattern("exp overflow", SHARED["exp overflow"].holds, shared("exp overflow")),
    Pattern(
        "normalisation without variance",
        lambda c: c.op in NORMALISATIONS and not infinite_input(c),
        shared("normalisation without variance"),
    ),
    Pattern(
        "nan was put in",
        lambda c: c.op in FILLING and c.result(np.isnan),
        "this line puts nan in: look at the value that it is given",
    ),
    Pattern(
        "inf was put in",
        given_inf,
        "this line puts infinity in, as masks do, and what follows cannot compute with it: mask with a large finite number, as in "
        "x.masked_fill(mask, -1e9), or after the operations that make nan of it",
    ),
    Pattern(
        "0 * inf",
        lambda c: c.op in PRODUCTS and c.result(np.isnan) and infinite_input(c),
        "0 times infinity is nan: look where the infinity comes from; to leave elements out write torch.where(mask, x, 0.0), not x * mask",
    ),
    Pattern(
        "inf / inf",
        lambda c: c.op in ("div", "softmax", "log_softmax") and c.result(np.isnan) and infinite_input(c),
        "infinity divided by infinity is nan: look where the infinity comes from, and subtract the maximum before exp(), as softmax does",
    ),
    Pattern(
        "inf - inf",
        lambda c: c.result(np.isnan) and infinite_input(c),
        "an infinity met another one, or a zero: look where it comes from, in the ranges above",
    ),
    Pattern(
        "overflow",
        lambda c: c.result(np.isinf),
        "finite numbers gave one that is too large for {dtype}: scale them down before {op}, or compute it in float64",
    ),
    Pattern(
        "custom function",
        lambda c: c.op not in OPS,
        "{op} made it of finite numbers: look for logarithms, roots and divisions in its forward",
    ),
    Pattern(
        "unexplained",
        lambda c: True,
        "{op} made nan of finite numbers: look at the ranges above, and at its arguments",
    ),
)

def advice(name: str) -> str:
    return next(pattern.advice for pattern in FORWARD if pattern.name == name)


# Patterns at which the bad number was not made: an infinity that came from elsewhere is told first.
MEETINGS = frozenset({"0 * inf", "inf / inf", "inf - inf", "unexplained"})
# Patterns at which an infinity is to blame that was legal until then.
ENDS = frozenset({"target is masked", "softmax of a row of -inf"})
# Patterns that are no mistakes by themselves: masks are.
LEGAL = frozenset({"inf was put in", "inf was given"})


def recognise(op: str, inputs: dict[str, Any], result: Any, before: list[list[str]]) -> tuple[str, str]:
    """The name of the pattern by which an op made a bad number of its inputs, and the advice."""
    dtype, result = result.dtype, numbers(result)
    known = {"input" if name == "x" else name: numbers(value) for name, value in inputs.items() if value is not None}
    bad = np.isnan(result) if np.isnan(result).any() else np.isinf(result)
    elementwise = op in OPS and OPS[op].broadcasts
    values = {name: np.broadcast_to(value, bad.shape)[bad] for name, value in known.items()} if elementwise else known
    case = Case(op, {**values, "result": result}, [], result, [], None, before)
    found = next(pattern for pattern in FORWARD if pattern.holds(case))
    return found.name, found.advice.format(op=op, dtype=dtype)

