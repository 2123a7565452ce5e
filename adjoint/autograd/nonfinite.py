"""Which of the usual mistakes a nan in a gradient looks like: a closed table of patterns, each with the line to write instead.

Nearly always a derivative is infinite at one point, and meets a gradient of zero: `0 * inf` is nan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .anomaly import array_of
from .engine import reachable, target_of
from .node import Edge, Freed, Node
from .packed import Packed
from .saved import SavedOutput

Array = Any
NEARBY = 4  # how many nodes apart two ops may be to make one pattern together


class Case(NamedTuple):
    """What is known about a node that returned nan."""

    op: str  # the name of its op; of a custom function, that of its node
    values: dict[str, Array]  # what it saved, by name
    incoming: list[Array]  # the gradients that it was given
    went_out: Array
    after: list[list[str]]  # ops that used its result, those one step on first
    born: Node | None  # the first node of the forward pass that met a nan
    before: Sequence[list[str]] = ()  # ops that made its inputs, those one step back first, where that matters (_blame/patterns.py)

    def advice(self) -> tuple[str, str]:
        """The name of the pattern, and the rewrite."""
        found = next(pattern for pattern in PATTERNS if pattern.holds(self))
        return found.name, found.advice.format(op=self.op)

    # ---- questions that patterns ask --------------------------------------------------------------------------------------------------

    def any(self, name: str, test: Callable[[Array], Any]) -> bool:
        """Whether a saved value passes the test somewhere."""
        value = self.values.get(name)
        return value is not None and bool(np.any(test(value)))

    def input(self, test: Callable[[Array], Any]) -> bool:
        return self.any("input", test)

    def result(self, test: Callable[[Array], Any]) -> bool:
        return self.any("result", test)

    def infinite_gradient(self) -> bool:
        return any(np.isinf(g).any() for g in self.incoming)

    def unused(self) -> bool:
        """Whether the gradient that came in is zero wherever the one that went out is nan."""
        bad = np.isnan(self.went_out)
        return any(np.shape(g) == np.shape(bad) and not np.any(np.asarray(g)[bad]) for g in self.incoming)

    def near(self, steps: Sequence[list[str]], *names: str) -> bool:
        return any(name in step for step in steps for name in names)


class Pattern(NamedTuple):
    name: str
    holds: Callable[[Case], bool]
    advice: str


def is_zero(value: Array) -> Array:
    return value == 0


LOGARITHMS = ("log", "log2", "log10")
SINGULAR = (
    "sqrt", "rsqrt", *LOGARITHMS, "log1p", "div", "reciprocal", "pow", "pow_number", "acos", "asin", "acosh", "atanh", "hypot",
    "exp", "logit", "erfinv", "xlogy", "lgamma", "digamma", "tan",
)  # fmt: skip
CHOOSING = (
    "where", "masked_fill", "masked_scatter", "masked_select", "index", "select_part", "slice_part", "gather", "index_select", "split",
    "take", "unbind",
)  # fmt: skip
SUMS = ("sum", "sum_all", "sum_dim", "mean", "mean_all", "mean_dim")
SQUARES = ("mul", "pow_number", "square")
NORMALISATIONS = ("layer_norm", "batch_norm_training", "group_norm", "instance_norm", "rms_norm")

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "nan came in",
        lambda c: any(np.isnan(g).any() for g in c.incoming),
        "the gradient was nan before it came here: look at the gradient given to backward(), and at the hooks that change gradients",
    ),
    Pattern(
        "log of softmax",
        lambda c: c.op == "softmax" and c.infinite_gradient() and c.near(c.after[:1], *LOGARITHMS),
        "write torch.log_softmax(x, dim) instead of torch.softmax(x, dim).log(), or give the scores themselves to cross_entropy: a "
        "probability that underflows to 0 has no logarithm",
    ),
    Pattern(
        "log of sigmoid",
        lambda c: c.op == "sigmoid" and c.infinite_gradient() and c.near(c.after[:2], *LOGARITHMS),
        "write torch.nn.functional.logsigmoid(x) instead of torch.sigmoid(x).log(), or give the scores themselves to "
        "binary_cross_entropy_with_logits: a probability that underflows to 0 has no logarithm",
    ),
    Pattern(
        "log of a sum of exp",
        lambda c: c.op == "exp" and c.near(c.after[:1], *SUMS) and c.near(c.after[:2], *LOGARITHMS),
        "write torch.logsumexp(x, dim) instead of x.exp().sum(dim).log(): exp overflows above 88 (float32) and underflows below -103",
    ),
    Pattern(
        "softmax of a row of -inf",
        lambda c: c.op in ("softmax", "log_softmax", "logsumexp") and (c.result(np.isnan) or c.result(np.isneginf)),
        "a row is -inf everywhere, as after masking all of it: leave one element of each row unmasked, or mask with a large negative "
        "number, as in scores.masked_fill(mask, -1e9)",
    ),
    Pattern(
        "masked",
        lambda c: c.op in SINGULAR and c.unused() and c.near(c.after, *CHOOSING),
        "the branch that is not taken gets a gradient of 0, and 0 times an infinite derivative is nan: put a harmless number in before "
        "the operation, as in safe = torch.where(mask, x, 1.0); torch.where(mask, f(safe), other), because masking its result comes too "
        "late",
    ),
    Pattern(
        "norm of zero",
        lambda c: c.op in SQUARES and c.input(is_zero) and c.infinite_gradient() and c.near(c.after[:3], "sqrt"),
        "write torch.linalg.vector_norm(x, dim=dim), whose gradient at 0 is 0, instead of (x**2).sum(dim).sqrt(), or add a small number "
        "under the root: ((x**2).sum(dim) + 1e-12).sqrt()",
    ),
    Pattern(
        "sqrt(0)",
        lambda c: c.op == "sqrt" and c.result(is_zero),
        "the derivative of sqrt at 0 is infinite: write (x + 1e-12).sqrt() or x.clamp(min=1e-12).sqrt()",
    ),
    Pattern(
        "sqrt of a negative number",
        lambda c: c.op in ("sqrt", "rsqrt") and c.result(np.isnan),
        "{op} of a negative number is nan: write x.clamp(min=1e-12).{op}(), and look where the negative number comes from",
    ),
    Pattern(
        "rsqrt(0)",
        lambda c: c.op == "rsqrt" and c.result(np.isinf),
        "rsqrt(0) is infinite: write (x + 1e-12).rsqrt()",
    ),
    Pattern(
        "log(0)",
        lambda c: c.op in LOGARITHMS and c.input(is_zero),
        "{op}(0) is -inf and its derivative is infinite: write x.clamp(min=1e-12).{op}(), or torch.xlogy(y, x) for y * log(x)",
    ),
    Pattern(
        "log1p(-1)",
        lambda c: c.op == "log1p" and c.input(lambda x: x <= -1),
        "log1p(-1) is -inf and its derivative is infinite: write x.clamp(min=-1 + 1e-6).log1p()",
    ),
    Pattern(
        "division by zero",
        lambda c: (c.op == "div" and c.any("other", is_zero)) or (c.op == "reciprocal" and c.result(np.isinf)),
        "the divisor is 0: write x / (y + 1e-12), or choose another divisor first: x / torch.where(y == 0, 1.0, y)",
    ),
    Pattern(
        "pow(0, p < 1)",
        lambda c: c.op in ("pow", "pow_number") and c.input(is_zero) and c.any("exponent", lambda p: p < 1),
        "the derivative of x**p at 0 is infinite for p < 1: write x.clamp(min=1e-12) ** p or (x + 1e-12) ** p",
    ),
    Pattern(
        "pow of a negative number",
        lambda c: c.op in ("pow", "pow_number") and c.input(lambda x: x < 0),
        "a negative number to a power that is not an integer is nan: write x.abs() ** p * x.sign() or x.clamp(min=1e-12) ** p",
    ),
    Pattern(
        "acos or asin of ±1",
        lambda c: c.op in ("acos", "asin", "atanh", "erfinv") and c.input(lambda x: np.abs(x) >= 1),
        "the derivative of {op} at -1 and 1 is infinite: write x.clamp(-1 + 1e-6, 1 - 1e-6).{op}(), or for the angle between vectors "
        "torch.atan2(torch.linalg.vector_norm(torch.cross(a, b)), torch.dot(a, b))",
    ),
    Pattern(
        "acosh(1)",
        lambda c: c.op == "acosh" and c.input(lambda x: x <= 1),
        "the derivative of acosh at 1 is infinite: write x.clamp(min=1 + 1e-6).acosh()",
    ),
    Pattern(
        "logit of 0 or 1",
        lambda c: c.op == "logit" and c.input(lambda x: (x <= 0) | (x >= 1)),
        "logit is infinite at 0 and 1: write torch.logit(x, eps=1e-6)",
    ),
    Pattern(
        "hypot(0, 0)",
        lambda c: c.op == "hypot" and c.input(is_zero) and c.any("other", is_zero),
        "hypot(0, 0) has no derivative: choose another point first, as in x = torch.where((x == 0) & (y == 0), 1.0, x)",
    ),
    Pattern(
        "std of one element",
        lambda c: c.op in ("std", "var") and not c.input(np.isnan),
        "the {op} of one element divides by n - 1 = 0: write x.{op}(correction=0), or do not take it where there is just one element",
    ),
    Pattern(
        "exp overflow",
        lambda c: c.op in ("exp", "expm1", "exp2", "sinh", "cosh") and c.result(np.isinf),
        "{op} overflowed to inf: subtract the maximum first, (x - x.max()).exp(), or use logsumexp, softmax or softplus, which do; "
        "or limit its input with x.clamp(max=80)",
    ),
    Pattern(
        "normalisation without variance",
        lambda c: c.op in NORMALISATIONS and not c.input(np.isnan),
        "what is normalised has no variance and eps is 0: pass a larger eps, for example eps=1e-5",
    ),
    Pattern(
        "nan in the forward pass",
        lambda c: any(np.isnan(value).any() for value in c.values.values()),
        "the forward pass met nan already: look at the line above that met it first, and at the data given to it",
    ),
    Pattern(
        "custom function",
        lambda c: c.op.endswith("Backward"),
        "the backward of this custom function computed nan from a gradient that was finite: look for 0/0, 0 * inf and inf - inf in it",
    ),
    Pattern(
        "inf times 0",
        lambda c: True,
        "an infinite number met a zero, or another infinity: look where the inf comes from, in the values and gradients above",
    ),
)


# ---- the case ---------------------------------------------------------------------------------------------------------------------------


def examine(node: Node, went_out: Array, g: Any, roots: Sequence[Edge]) -> Case:
    incoming = [array for array in map(array_of, g if isinstance(g, list) else [g]) if array is not None]
    op = node.name() if node.op is None else node.op.name
    return Case(op, saved_arrays(node), incoming, went_out, users(node, roots), first_nan(node))


def saved_arrays(node: Node) -> dict[str, Array]:
    """What a node keeps for backward and is a number or an array of numbers with a fraction, by PyTorch's name for it."""
    if isinstance(node.saved, Freed):
        return {}
    found: dict[str, Array] = {}
    names = node.layout or tuple(f"saved tensor {place}" for place in range(len(node.saved or ())))
    for name, kept in zip(names, node.saved or (), strict=False):
        value = kept[0] if isinstance(kept, tuple) and kept and hasattr(kept[0], "_data") else kept
        value = value.array if isinstance(value, SavedOutput) else value
        if isinstance(value, Packed):
            continue  # who packed it may give it out only once, as checkpoints do
        array = np.asarray(value) if value.__class__ is float or value.__class__ is int else array_of(value)
        if array is not None and name not in ("dim", "eps", "beta", "threshold", "correction"):
            found["result" if name == "out" else "input" if name == "x" else name] = array
    return found


def op_name(node: Any) -> str:
    return "" if not isinstance(node, Node) else node.name() if node.op is None else node.op.name


def users(node: Node, roots: Sequence[Edge]) -> list[list[str]]:
    """The ops that used the result of a node, step by step."""
    nodes = reachable(roots)
    steps, wanted = [], {node}
    for _ in range(NEARBY):
        wanted = {user for user in nodes if any(target_of(edge) in wanted for edge in user.next)}
        steps.append([op_name(user) for user in wanted])
    return steps


def first_nan(node: Node) -> Node | None:
    """The earliest node on the way to the leaves that saved a nan."""
    return next((found for found in sorted(reachable([node]), key=lambda n: n.seq) if holds_nan(saved_arrays(found).values())), None)


def holds_nan(arrays: Any) -> bool:
    return any(np.isnan(array).any() for array in arrays)
