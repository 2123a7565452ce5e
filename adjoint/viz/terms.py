"""Terms: what a formula consists of, kept simple while it is put together, written as a person would write it, and evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

SUM, PRODUCT, POWER, ATOM = range(4)  # how tightly a term holds together
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


class Term:
    """One of

        number(value), atom(name), sum(terms), product(factor, (base, exponent)...), matmul(a, b), transpose(a),
        call(name, terms), where(condition, a, b), compare(sign, a, b), total(name, a), part(index, a), shaped(a)

    Equal terms have equal keys. `plain` says that a term stands for one number, not for an array of several.
    """

    __slots__ = ("args", "fn", "key", "kind", "name", "plain", "value")

    def __init__(
        self, kind: str, args: tuple[Any, ...] = (), *, name: str = "", value: float = 0.0, fn: Any = None, plain: bool | None = None
    ) -> None:
        self.kind = kind
        self.args = args
        self.name = name
        self.value = value
        self.fn = fn
        parts = [arg[0] if isinstance(arg, tuple) else arg for arg in args]
        self.plain = all(part.plain for part in parts) if plain is None else plain
        self.key = (kind, name, value, tuple((arg[0].key, arg[1]) if isinstance(arg, tuple) else arg.key for arg in args))

    # ---- its value --------------------------------------------------------------------------------------------------------------------

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        match self.kind:
            case "number":
                return self.value
            case "atom":
                return values[self.name]
            case "sum":
                found = self.args[0].evaluate(values)
                for arg in self.args[1:]:
                    found = found + arg.evaluate(values)
                return found
            case "product":
                found = self.value
                for base, exponent in self.args:
                    found = found * np.power(base.evaluate(values), exponent, dtype=float)
                return found
        return self.fn(*(arg.evaluate(values) for arg in self.args))

    def factors(self) -> list[tuple[Term, float]]:
        return list(self.args) if self.kind == "product" else [(self, 1.0)]

    def atoms(self) -> set[str]:
        """The names that occur in it."""
        found: set[str] = {self.name} if self.kind == "atom" else set()
        return found.union(*[(arg[0] if isinstance(arg, tuple) else arg).atoms() for arg in self.args])

    def without(self, name: str) -> Term | None:
        """The other factor, where an atom is one of two; None where it is not."""
        if self.kind == "atom" and self.name == name:
            return number(1.0)
        if self.kind == "shaped":
            return self.args[0].without(name)  # type: ignore[no-any-return]
        if self.kind != "product":
            return None
        rest = [(base, exponent) for base, exponent in self.args if not (inner(base).name == name and exponent == 1)]
        if len(rest) != len(self.args) - 1 or any(name in base.atoms() for base, _ in rest):
            return None
        return of_factors(self.value, rest)

    # ---- its text ---------------------------------------------------------------------------------------------------------------------

    def text(self, names: Mapping[str, str]) -> str:
        return self.written(names)[0]

    def inside(self, names: Mapping[str, str], at_least: int) -> str:
        """In brackets where it would fall apart."""
        text, level = self.written(names)
        return text if level >= at_least else f"({text})"

    def written(self, names: Mapping[str, str]) -> tuple[str, int]:
        """The text and how tightly it holds together."""
        match self.kind:
            case "number":
                return written_number(self.value), ATOM if self.value >= 0 else SUM
            case "atom":
                text = names.get(self.name, self.name)
                return text, holds_together(text)
            case "sum":
                return self.written_sum(names), SUM
            case "product":
                return self.written_product(names)
            case "matmul":
                return " · ".join(arg.inside(names, PRODUCT) for arg in self.args), PRODUCT
            case "transpose":
                text = self.args[0].inside(names, ATOM)
                return f"({text})ᵀ" if text.startswith("∂") else f"{text}ᵀ", ATOM
            case "where":
                condition, a, b = self.args
                if a.kind == "number" and condition.kind == "compare":
                    return f"{b.inside(names, PRODUCT)} where {condition.opposite(names)}, else {a.inside(names, PRODUCT)}", -1
                return f"{a.inside(names, PRODUCT)} where {condition.text(names)}, else {b.inside(names, PRODUCT)}", -1
            case "compare":
                return self.compared(self.name, names), -1
            case "part":
                text = self.args[0].inside(names, ATOM)
                return f"({text})[{self.name}]" if text.startswith("∂") else f"{text}[{self.name}]", ATOM
            case "shaped":
                return self.args[0].written(names)  # type: ignore[no-any-return]
            case "total":
                if self.name == "Σ" and inner(self.args[0]).kind == "atom":
                    return "Σ " + self.args[0].inside(names, ATOM), PRODUCT
                return f"{self.name}({self.args[0].text(names)})", ATOM
        if self.name == "absolute":
            return f"|{self.args[0].text(names)}|", ATOM
        if self.name == "pow":
            return "^".join(arg.inside(names, ATOM) for arg in self.args), POWER
        if self.name in ("and", "or"):
            return f" {self.name} ".join(arg.inside(names, -1) for arg in self.args), -1
        return f"{self.name}({', '.join(arg.text(names) for arg in self.args)})", ATOM

    def opposite(self, names: Mapping[str, str]) -> str:
        return self.compared({">": "≤", "≥": "<", "<": "≥", "≤": ">", "=": "≠", "≠": "="}[self.name], names)

    def compared(self, sign: str, names: Mapping[str, str]) -> str:
        return f" {sign} ".join(arg.inside(names, SUM) for arg in self.args)

    def written_sum(self, names: Mapping[str, str]) -> str:
        text = ""
        for place, arg in enumerate(self.args):
            negative = arg.kind in ("number", "product") and arg.value < 0
            one = arg.text(names) if negative else arg.inside(names, PRODUCT)
            if place == 0:
                text = one
            else:
                text += f" − {one[1:]}" if one.startswith("−") else f" + {one}"
        return text

    def written_product(self, names: Mapping[str, str]) -> tuple[str, int]:
        over = [(base, exponent) for base, exponent in self.args if exponent > 0]
        under = [(base, -exponent) for base, exponent in self.args if exponent < 0]
        factor, divisor = abs(self.value), 1.0
        if factor not in (0, 1) and factor < 1 and abs(1 / factor - round(1 / factor)) < 1e-6 and 1 / factor < 1e6:
            factor, divisor = 1.0, float(round(1 / factor))  # a half is written as a division by two
        coefficient = [(written_number(factor), True)] * (factor != 1 or not over)
        top = join(coefficient + [written_power(*one, names) for one in self.in_order(over)])
        if under or divisor != 1:
            bottom = [(written_number(divisor), True)] * (divisor != 1) + [written_power(*one, names) for one in under]
            top = f"{top} / {join(bottom) if len(bottom) == 1 else f'({join(bottom)})'}"
        alone = len(self.args) == 1 and self.value == 1 and not under
        return ("−" if self.value < 0 else "") + top, POWER if alone else PRODUCT if self.value >= 0 else SUM

    @staticmethod
    def in_order(factors: list[tuple[Term, float]]) -> list[tuple[Term, float]]:
        """The gradient that arrived stands first."""
        return sorted(factors, key=lambda one: inner(one[0]).name != "g")


def holds_together(text: str) -> int:
    """How tightly the text of a name does: names may be pieces of code such as `x + y`."""
    depth = 0
    level = ATOM
    if text.startswith("∂") and " " not in text.split("(", maxsplit=1)[0]:
        return ATOM
    for place, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if depth:
            continue
        if sign in "+−-=<>" and place and text[place - 1] not in "eE":
            return SUM
        if sign in "−-" and not place:
            return SUM
        if sign in "·*/@" or sign == " ":
            level = min(level, PRODUCT)
        elif sign in "⁰¹²³⁴⁵⁶⁷⁸⁹^":
            level = min(level, POWER)
    return level


def inner(term: Term) -> Term:
    while term.kind == "shaped":
        term = term.args[0]
    return term


def join(parts: list[tuple[str, bool]]) -> str:
    """Factors side by side: `·` beside single numbers, `⊙` between arrays, which are multiplied element by element."""
    text = parts[0][0]
    for (_, before), (part, plain) in pairwise(parts):
        text += ("·" if before or plain else " ⊙ ") + part
    return text


def written_power(base: Term, exponent: float, names: Mapping[str, str]) -> tuple[str, bool]:
    if exponent == 1:
        return base.inside(names, PRODUCT if base.kind == "total" else POWER), base.plain
    if exponent == 0.5:
        text = base.inside(names, ATOM)
        return f"√{text}", base.plain
    if exponent == int(exponent) and abs(exponent) < 100:
        return base.inside(names, ATOM) + str(int(exponent)).translate(SUPERSCRIPTS), base.plain
    return f"{base.inside(names, ATOM)}^{written_number(exponent) if exponent > 0 else f'({written_number(exponent)})'}", base.plain


def written_number(value: float) -> str:
    """
    >>> [written_number(x) for x in (2.0, -0.5, 1e-12, 1 / 3)]
    ['2', '−0.5', '1e−12', '0.3333']
    """
    if value != value or value in (np.inf, -np.inf):
        return {True: "nan"}.get(value != value, "∞" if value > 0 else "−∞")
    return f"{value:.4g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e").replace("-", "−")


# ---- making terms -------------------------------------------------------------------------------------------------------------------


def number(value: float) -> Term:
    return Term("number", value=float(value), plain=True)


def atom(name: str, plain: bool = False) -> Term:
    return Term("atom", name=name, plain=plain)


def sum_of(*terms: Term) -> Term:
    """A sum without the zeros in it; numbers come to one number."""
    flat = [part for term in terms for part in (term.args if term.kind == "sum" else (term,))]
    known = sum(part.value for part in flat if part.kind == "number")
    rest = [part for part in flat if part.kind != "number"]
    if not rest:
        return number(known)
    place = next((i for i, part in enumerate(flat) if part.kind == "number"), 0)
    if known:
        rest.insert(min(place, len(rest)), number(known))
    return rest[0] if len(rest) == 1 else Term("sum", tuple(rest))


def product(factor: float, *terms: Term) -> Term:
    """A product in which equal factors have become a power, and numbers one number."""
    factors: list[tuple[Term, float]] = []
    for term in terms:
        if term.kind == "number":
            factor *= term.value
            continue
        if term.kind == "product":
            factor *= term.value
        factors += term.factors()
    return of_factors(factor, factors)


def of_factors(factor: float, factors: list[tuple[Term, float]]) -> Term:
    merged: dict[Any, tuple[Term, float]] = {}
    for base, exponent in factors:
        known = merged.get(base.key)
        merged[base.key] = (base, exponent + (known[1] if known else 0.0))
    kept = tuple((base, exponent) for base, exponent in merged.values() if exponent)
    if factor == 0 or not kept:
        return number(factor)
    if factor == 1 and len(kept) == 1 and kept[0][1] == 1:
        return kept[0][0]
    return Term("product", kept, value=factor)


def power(base: Term, exponent: float) -> Term:
    if base.kind == "number":
        return number(float(np.power(base.value, exponent)))
    if base.kind == "product" and exponent == int(exponent):
        return of_factors(float(np.power(base.value, exponent)), [(inside, known * exponent) for inside, known in base.args])
    return of_factors(1.0, [(base, exponent)])


def matmul(a: Term, b: Term) -> Term:
    return Term("matmul", (a, b), fn=np.matmul)


def transpose(a: Term, fn: Callable[[Any], Any]) -> Term:
    if a.kind == "transpose":
        return shaped(a.args[0], lambda x: fn(a.fn(x)))
    return Term("transpose", (a,), fn=fn)


def call(name: str, fn: Callable[..., Any], *args: Term) -> Term:
    return Term("call", args, name=name, fn=fn)


def where(condition: Term, a: Term, b: Term) -> Term:
    return Term("where", (condition, a, b), fn=np.where)


def compare(sign: str, fn: Callable[..., Any], a: Term, b: Term) -> Term:
    return Term("compare", (a, b), name=sign, fn=fn)


def total(name: str, fn: Callable[[Any], Any], a: Term) -> Term:
    return Term("total", (a,), name=name, fn=fn)


def part(a: Term, index: str, fn: Callable[[Any], Any]) -> Term:
    return Term("part", (a,), name=index, fn=fn)


def shaped(a: Term, fn: Callable[[Any], Any]) -> Term:
    """The same numbers in another shape."""
    return Term("shaped", (a,), fn=fn)
