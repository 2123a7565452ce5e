"""What `ad.blame` answers: an object that prints as a report, shows itself in notebooks, and has every fact as an attribute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from html import escape
from typing import Any, NamedTuple

import numpy as np

from .._site import Site
from ..autograd.anomaly import ranges_of

LISTED = 8  # samples and parameters that are named; the others are counted


class Cause(Enum):
    """Where bad numbers come from; a closed set."""

    FORWARD = "an operation of the forward pass made them"
    BACKWARD = "the derivative of an operation made them"
    DATA = "they were in the data"
    PARAMETER = "they were in the parameters already"
    EXPLODING = "the gradient is finite, and grew on its way"
    NOT_KEPT = "the values that would tell were not kept"
    TERMS = "the gradient was divided among the terms of the loss"
    FINITE = "there are none"


class Range(NamedTuple):
    """What numbers a tensor held."""

    text: str  # dtype, shape, smallest and largest finite number, how many are zero, inf and nan
    minimum: float  # of the finite ones; nan if there are none
    maximum: float
    bad: int  # how many are not finite

    @classmethod
    def of(cls, array: Any) -> Range:
        values = numbers(array)
        values = np.abs(values) if values.dtype.kind == "c" else values
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (float("nan"),) * 2
        return cls(ranges_of(array), low, high, int(values.size - finite.size))

    def __str__(self) -> str:
        return self.text


class Term(NamedTuple):
    """What one term of a loss gives to the gradient of one parameter."""

    site: Site  # the line that computed the term
    norm: float  # of its gradient
    share: float  # of the sum of these norms; nan where one of them is
    against: bool  # whether it points away from the whole gradient


@dataclass
class Finding:
    """Where bad numbers came from."""

    cause: Cause
    message: str
    pattern: str = ""  # the usual mistake that it looks like, of a closed list
    advice: str = ""
    rewrite: str = ""  # the guilty expression as it should be; empty where the source does not tell
    op: str = ""
    sites: dict[str, Site] = field(default_factory=dict)  # the lines that had a part in it, by their roles
    ranges: dict[str, Range] = field(default_factory=dict)  # the numbers that the operation was given and made
    samples: tuple[int, ...] = ()  # which of the batch: indices along dimension 0
    parameters: tuple[str, ...] = ()  # whose gradients are not finite, by their names
    terms: dict[str, list[Term]] = field(default_factory=dict)  # for `blame(loss, parameters)`: by parameter

    @property
    def site(self) -> Site | None:
        """The line to look at first."""
        return next(iter(self.sites.values()), None)

    def __bool__(self) -> bool:
        """Whether something is to blame."""
        return self.cause not in (Cause.FINITE, Cause.TERMS)

    def rows(self) -> Iterator[tuple[str, str]]:
        """What is known besides the lines."""
        yield from ((role, found.text) for role, found in self.ranges.items())
        if self.samples:
            yield "samples", listed([str(sample) for sample in self.samples])
        if self.parameters:
            yield "reached", listed(list(self.parameters))
        for name, terms in self.terms.items():
            for term in terms:
                against = ", against the sum" if term.against else ""
                share = "not finite" if np.isnan(term.share) else f"{term.share:.0%}"
                yield f"{share} of {name}", f"{term.site} (|g| {term.norm:.4g}{against})"

    def __str__(self) -> str:
        rows = list(self.rows())
        width = max(map(len, (*self.sites, *(role for role, _ in rows))), default=0)
        lines = [self.message]
        for role, site in self.sites.items():
            lines.append(f"  {role:<{width}}  {site}")
            if site.caret:
                lines.append(f"  {'':<{width}}  {site.caret}")
        lines += [f"  {role:<{width}}  {text}" for role, text in rows]
        lines += [f"  fix: {self.advice}"] if self.advice else []
        lines += [f"  write: {self.rewrite}"] if self.rewrite else []
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.cause.name}{f' {self.pattern}' if self.pattern else ''}: {self.message}>"

    def _repr_html_(self) -> str:
        sites = "".join(
            f"<tr><td>{escape(role)}</td><td>{escape(site.where)}</td><td><code>{escape(site.text)}</code></td></tr>"
            for role, site in self.sites.items()
        )
        rows = "".join(f'<tr><td>{escape(role)}</td><td colspan="2">{escape(text)}</td></tr>' for role, text in self.rows())
        return (
            f"<div><b>{escape(self.pattern or self.cause.name)}</b> {escape(self.message)}"
            + (f"<table>{sites}{rows}</table>" if sites or rows else "")
            + (f"<p>{escape(self.advice)}</p>" if self.advice else "")
            + (f"<pre>{escape(self.rewrite)}</pre>" if self.rewrite else "")
            + "</div>"
        )


def listed(names: list[str]) -> str:
    """
    >>> listed(["a", "b"]), listed([str(n) for n in range(10)])
    ('a, b', '0, 1, 2, 3, 4, 5, 6, 7 and 2 more')
    """
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


def numbers(array: Any) -> Any:
    """An array of numbers that NumPy can judge: those of extension types (bfloat16) as float32."""
    data = np.asarray(array)
    if data.dtype.kind in "fciub":
        return data
    try:
        return data.astype(np.float32)
    except (TypeError, ValueError):  # packed numbers are none
        return np.zeros(0)


def kinds_of(array: Any) -> set[str]:
    """Which bad numbers an array holds: nan, inf, both or none."""
    data = numbers(array)
    if np.isfinite(data).all():
        return set()
    return {name for name, test in (("nan", np.isnan), ("inf", np.isinf)) if test(data).any()}


def kind_of(array: Any) -> str:
    """The worst of them, in a word."""
    kinds = kinds_of(array)
    return "nan" if "nan" in kinds else "inf" if kinds else "finite"


def bad_samples(array: Any) -> tuple[int, ...]:
    """The indices along dimension 0 at which something is not finite; none where that is all of a single one, or there is no dimension."""
    data = numbers(array)
    if data.ndim == 0 or data.shape[0] < 2:
        return ()
    return tuple(int(place) for place in np.flatnonzero(~np.isfinite(data).reshape(data.shape[0], -1).all(axis=1)))
