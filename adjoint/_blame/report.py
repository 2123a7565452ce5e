"""From what was found to what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import exp, log
from typing import Any

import numpy as np

from .._site import Site
from .._tensor import Parameter, Tensor
from .._watching import op_name
from ..autograd.node import Edge, Node
from ..autograd.nonfinite import SINGULAR, saved_arrays
from ..nn._owners import names_of
from ..ops._registry import OPS
from .backward import Birth, Births
from .finding import Cause, Finding, Range
from .rewrite import rewritten, spelled
from .steps import Step, origin

HUGE_PARAMETER = 1e4  # beyond this a parameter counts as exploded where something overflows
EXPLODED = 1e6  # beyond this a finite gradient counts as exploded

RECORD = (
    "call ad.blame(loss) before backward(), or backward(retain_graph=True); to know it afterwards, run the step inside "
    "`with ad.blame.recording():`"
)
LOOK = "look at the data: torch.isfinite(x).all() before the model, and x.nan_to_num() or leaving the rows out where it must go on"
LOWER = (
    "lower the learning rate, or limit the gradients before each step: torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
)

CLOSE = "{op} is steep close to the edge of what it is defined on: keep its input away from there, as in x.clamp(min=1e-6)"
STEEP = {
    "binary_cross_entropy": (
        "saturated probability",
        "a probability is 0 or 1 where the target is the other: give the scores themselves to binary_cross_entropy_with_logits",
    ),
}


def named(leaves: Iterable[Any]) -> dict[Any, str]:
    """Leaves and their names, in the order of their models; a shape for those that have none."""
    wanted = dict.fromkeys(leaves)
    known = names_of(wanted)
    return {leaf: name or f"a leaf of shape {list(leaf.shape)}" for leaf, name in known.items() if leaf in wanted}


def names(leaves: Iterable[Any]) -> tuple[str, ...]:
    return tuple(named(leaves).values())


def public(op: str) -> str:
    """PyTorch's name for an op."""
    return op_name(OPS[op]) if op in OPS else op


def finished(finding: Finding) -> Finding:
    """With the repair in the user's own code, and in the user's spelling."""
    site = finding.site
    if site is None:
        return finding
    rewrite = rewritten(finding.pattern, finding.op, site) if finding.op else ""
    return replace(finding, advice=spelled(finding.advice, site), rewrite=rewrite)


def from_step(last: Step, what: str, kind: str, leaves: Sequence[Tensor]) -> Finding:
    """The finding for a bad result of the forward pass. `what` is said to be bad; `leaves` are those of its graph."""
    birth, other = origin(last)
    sites = {"born": birth.site}
    if other is not None and other.site != birth.site:
        sites["became nan" if other.seq > birth.seq else "inf from"] = other.site
    common: dict[str, Any] = {"sites": sites, "ranges": birth.ranges, "samples": birth.samples}
    if not birth.op:
        return from_given(birth, what, kind, common)
    if birth.pattern == "unexplained" and "result" not in birth.ranges:
        message = f"{what} is {kind}, and no value is known from {public(birth.op)}, whose inputs are finite, to where it was seen."
        return Finding(Cause.NOT_KEPT, message, advice=RECORD, sites={"finite": birth.site, "seen": last.site}, ranges=birth.ranges)
    grown = [leaf for leaf in leaves if isinstance(leaf, Parameter) and extreme(leaf) > HUGE_PARAMETER]
    if birth.pattern in ("overflow", "exp overflow") and grown:
        message = f"{what} is {kind}: {public(birth.op)} overflowed, because parameters have grown to {max(map(extreme, grown)):.2g}."
        common |= {"pattern": "learning rate too high", "advice": LOWER, "parameters": names(grown), "samples": ()}
        return finished(Finding(Cause.PARAMETER, message, **common))
    made = kind if "result" not in birth.ranges else "nan" if birth.nan else "inf"
    then = f", of which {public(other.op)} made nan" if other is not None and other.op and other.seq > birth.seq else ""
    message = f"{what} is {kind}: {public(birth.op)} made {made}{then} ({birth.pattern})."
    return finished(Finding(Cause.FORWARD, message, pattern=birth.pattern, advice=birth.fix, op=public(birth.op), **common))


def from_given(birth: Step, what: str, kind: str, common: dict[str, Any]) -> Finding:
    """Bad numbers that no operation made."""
    tensor = None if birth.tensor is None else birth.tensor()
    if isinstance(tensor, Tensor) and tensor.requires_grad and tensor.is_leaf:
        (name,) = names([tensor])
        message = f"{what} is {kind}: {name} was not finite before this step."
        fix = (
            "an earlier step has spoilt it: put the loop inside `with ad.blame.recording():`, which tells the first bad step; "
            f"often it helps to {LOWER}"
        )
        common["samples"] = ()
        return finished(Finding(Cause.PARAMETER, message, pattern="bad parameter", advice=fix, **common))
    kept = "" if birth.ranges else " It was not kept; everything else that this line used is finite."
    message = f"{what} is {kind}: the data that this line was given is not finite.{kept}"
    return finished(Finding(Cause.DATA, message, pattern="bad input data", advice=LOOK, **common))


def extreme(leaf: Tensor) -> float:
    data = np.abs(np.asarray(leaf._data)) if isinstance(leaf._data, np.ndarray) and leaf._data.size else np.zeros(1)
    return float(data.max()) if np.isfinite(data).all() else float("inf")


def from_births(births: Births, step_of: Callable[[Edge], Step | None]) -> Finding | None:
    """The finding for bad gradients of leaves; None if they are all finite. `step_of` knows the bad results of the forward pass."""
    found = births.origin()
    if found is None:
        return None
    birth, other = found
    if birth.pattern == "nan in the forward pass" and birth.met is not None:  # in a branch that the loss does not take
        steps = [step for edge in birth.met.next if (step := step_of(edge)) is not None and step.nan]
        if steps:
            told = from_step(steps[0], "The gradient", "nan", [])
            return replace(told, sites=told.sites | {"met": birth.met.site}, parameters=names(births.leaves))
    sites: dict[str, Site] = {} if birth.site is None else {"born": birth.site}
    if other is not None and other.site is not None and other.site != birth.site:
        sites["became nan" if other.kind == "nan" and birth.kind == "inf" else "first inf"] = other.site
    kind = "nan" if any("nan" in kinds for kinds in births.leaves.values()) else "inf"
    op = op_of(birth)
    message = f"The gradient is {kind}: the derivative of {op} made {birth.kind} ({birth.pattern})."
    if birth.pattern.endswith("came in"):
        message = f"The gradient is {kind}: {birth.kind} came in from outside the graph."
    finding = Finding(
        Cause.BACKWARD, message, birth.pattern, birth.fix, op=op, sites=sites, ranges=birth.ranges, samples=birth.samples,
        parameters=names(births.leaves),
    )  # fmt: skip
    if birth.pattern == "norm of zero" and other is not None and other.site is not None:
        return replace(finished(finding), rewrite=rewritten("sqrt(0)", "sqrt", other.site))
    return finished(finding)


def op_of(birth: Birth) -> str:
    node = birth.node
    return "a hook" if node is None else node.name().removesuffix("Backward") if node.op is None else op_name(node.op)


def from_growth(births: Births) -> Finding | None:
    """The finding for gradients that are finite and far too large; None if they are not."""
    leaves = [leaf for leaf, size in births.largest.items() if size > EXPLODED]
    if not leaves:
        return None
    by_line: dict[Any, list[Node]] = {}
    for node, factor in births.growth.items():
        if factor > 0:
            by_line.setdefault((node.code, node.site.line), []).append(node)
    nodes = max(by_line.values(), key=lambda nodes: sum(log(births.growth[node]) for node in nodes))
    factor = exp(min(sum(log(births.growth[node]) for node in nodes), 700.0))
    times = f", which ran {len(nodes)} times," if len(nodes) > 1 else ""
    sizes = max(births.largest.values())
    message = f"The gradient is finite and as large as {sizes:.3g}: this line{times} made it {factor:.3g} times larger."
    node = max(nodes, key=lambda node: births.growth[node])
    op = "" if node.op is None else node.op.name
    usual = CLOSE.format(op=public(op)) if op in SINGULAR else LOWER
    pattern, advice = STEEP.get(op, ("exploding gradient", usual))
    ranges = {f"its {name}": Range.of(value) for name, value in saved_arrays(node).items()}
    return finished(
        Finding(Cause.EXPLODING, message, pattern, advice, sites={"grew": node.site}, ranges=ranges, parameters=names(leaves))
    )


def ranges_of_gradients(leaves: Iterable[Any]) -> dict[str, Range]:
    """The gradients of leaves, by name."""
    return {f"gradient of {name}": Range.of(leaf._grad._data) for leaf, name in named(leaves).items()}
