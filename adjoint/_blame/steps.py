"""The way of bad numbers through a forward pass, from where they are seen back to where they were born.

A Step is one operation whose result is not finite. Its causes are the steps that made its bad inputs. Infinities that an operation
takes in its stride (masks before softmax) are on nobody's way, so a healthy program is not blamed for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

import numpy as np

from .._site import Site
from .._tensor import Parameter, Tensor
from ..autograd.nonfinite import LOGARITHMS, SUMS
from ..ops._registry import OPS
from .finding import Range, bad_samples, kinds_of, numbers
from .patterns import ENDS, FILLING, LEGAL, MEETINGS, advice, recognise, shared


@dataclass(eq=False)
class Step:
    """An operation whose result is not finite, or something bad that the program was given."""

    op: str  # empty for what was given
    seq: int
    site: Site
    ranges: dict[str, Range]
    nan: bool
    inf: bool
    samples: tuple[int, ...] = ()
    pattern: str = ""
    fix: str = ""
    causes: list[Step] = field(default_factory=list)
    tensor: ref[Tensor] | None = None  # what was given: a parameter, or data
    depth: int = 0  # how many steps lead here

    def has(self, kind: str) -> bool:
        return self.nan if kind == "nan" else self.inf


def step_of(op: str, seq: int, site: Site, inputs: dict[str, Any], result: Any, before: list[list[str]], causes: list[Step]) -> Step:
    """The step of an operation, from its numbers. An input is None where it is not known."""
    ranges = {name: Range.of(value) for name, value in inputs.items() if value is not None}
    if result is None:
        step = Step(op, seq, site, ranges, True, True, causes=causes)
        step.pattern = "inf was put in" if op in FILLING else "unexplained" if op in OPS else "custom function"
        step.fix = advice(step.pattern).format(op=op)
        if op in FILLING and inputs.get("mask") is not None:  # the number that it puts in is not kept; where it does is
            step.samples = bad_samples(np.where(inputs["mask"], np.nan, 0.0))
        return step
    kinds = kinds_of(result)
    step = Step(op, seq, site, ranges, "nan" in kinds, "inf" in kinds, samples_of(inputs, result), causes=causes)
    step.ranges["result"] = Range.of(result)
    step.pattern, step.fix = recognise(op, inputs, result, before)
    return step


def samples_of(inputs: dict[str, Any], result: Any) -> tuple[int, ...]:
    """Which samples of a batch are bad; none where dimension 0 of the result is not that of what it was made from."""
    first = next((np.asarray(value) for value in inputs.values() if value is not None and np.ndim(value)), None)
    if first is not None and first.ndim != np.ndim(result) and first.shape[:1] != np.shape(result)[:1]:
        return ()
    return bad_samples(result)


def is_row_of_parameter(operand: Any, result: Any) -> bool:
    """Whether the rows of a result are those of a parameter, and no samples."""
    return isinstance(operand, Parameter) and tuple(operand.shape) == np.shape(result)


def given(name: str, tensor: Any, array: Any, seq: int, site: Site) -> Step:
    """The step of a bad tensor that no operation made. `array` is None where it is not known, only that it must be bad."""
    if array is None:
        return Step("", seq, site, {}, True, True, pattern="bad input data")
    values, kinds = numbers(array), kinds_of(array)
    masks = kinds == {"inf"} and (values[np.isinf(values)] < 0).all() if values.dtype.kind == "f" else False
    pattern = "inf was given" if masks else "bad input data"
    owner = ref(tensor) if isinstance(tensor, Tensor) else None
    return Step("", seq, site, {name: Range.of(array)}, "nan" in kinds, "inf" in kinds, bad_samples(array), pattern, tensor=owner)


def births(steps: Iterable[Step], kind: str) -> tuple[list[Step], dict[Step, list[Step]]]:
    """The steps at which numbers of a kind were born, the first in time first, and who used the result of each step on the way."""
    users: dict[Step, list[Step]] = {step: [] for step in steps}
    waiting, found = list(users), []
    while waiting:
        step = waiting.pop()
        causes = [] if step.pattern in ENDS else [cause for cause in step.causes if cause.has(kind)]
        if not causes:
            found.append(step)
        for cause in causes:
            if cause not in users:
                users[cause] = []
                waiting.append(cause)
            users[cause].append(step)
    return sorted(found, key=lambda step: step.seq), users


def origin(last: Step) -> tuple[Step, Step | None]:
    """The step that is to blame for a bad result, and the one that made nan of its infinity (or that the infinity came from)."""
    kind = "nan" if last.nan else "inf"
    found, users = births([last], kind)
    birth = next((step for step in found if step.pattern not in LEGAL), found[0])
    if kind == "inf":
        return refined(birth, users), None
    infinities, users = births([cause for cause in birth.causes if cause.has("inf")], "inf")
    guilty = next((step for step in infinities if step.pattern not in LEGAL), None)
    if birth.pattern in MEETINGS and guilty is not None:
        users.setdefault(guilty, []).append(birth)
        return refined(guilty, users), birth
    return birth, infinities[0] if infinities else None


def refined(birth: Step, users: dict[Step, list[Step]]) -> Step:
    """The same, with a better name for what only its users tell: the logarithm of a sum of `exp`."""
    after = users.get(birth, [])
    if birth.pattern == "exp overflow" and any(step.op in SUMS for step in after):
        later = [user for step in after for user in users.get(step, [])]
        if any(step.op in LOGARITHMS for step in later):
            birth.pattern, birth.fix = "log of a sum of exp", shared("log of a sum of exp")
    return birth
