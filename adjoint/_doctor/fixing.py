"""Repairs one after the other, each checked by running the repaired program under the doctor: what it should have repaired must be gone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .finding import FINDING
from .repairs import REPAIRS, ByHandError, Change, Diagnosis, Program
from .repairs.source import Edit

ROUNDS = 30  # findings that are looked at, at most


@dataclass
class Report:
    """What the doctor says of a program, and with which error it ended."""

    findings: list[Diagnosis]
    error: str = ""

    def count(self, rule: str) -> int:
        return sum(one.rule == rule for one in self.findings)

    def has(self, found: Diagnosis) -> bool:
        return any((one.rule, one.message) == (found.rule, found.message) for one in self.findings)


Examine = Callable[[Mapping[str, str]], Report]  # runs the program with other texts for some of its files


@dataclass
class Fix:
    """The files as they should be, what was repaired by that, and what is left."""

    texts: dict[str, str] = field(default_factory=dict)
    originals: dict[str, str] = field(default_factory=dict)
    repaired: list[Diagnosis] = field(default_factory=list)
    by_hand: list[tuple[Diagnosis, str]] = field(default_factory=list)
    after: Report = field(default_factory=lambda: Report([]))


def fixed(before: Report, examine: Examine, without: frozenset[str] = frozenset()) -> Fix:
    """Repair what can be repaired. Rules whose findings have only changed their words in the end are left to the user."""
    back = [one for one in before.findings if one.rule in without]
    fix = Fix(after=before, by_hand=[(one, f"{one.fix} (a repair was tried, and the finding came back)") for one in back])
    for _ in range(ROUNDS):
        found = next((one for one in fix.after.findings if not is_settled(fix, one, without)), None)
        if found is None:
            break
        try:
            file, text, fix.after = best(found, fix, examine)
        except ByHandError as reason:
            fix.by_hand.append((found, str(reason)))
            continue
        fix.texts[file] = text
        fix.repaired.append(found)
    failed = {one.rule for one in fix.repaired if fix.after.count(one.rule) >= max(before.count(one.rule), 1)}
    if failed:
        return fixed(before, examine, without | failed)
    fix.by_hand += [(one, one.fix) for one in fix.after.findings if not is_settled(fix, one)]
    return fix


def best(found: Diagnosis, fix: Fix, examine: Examine) -> tuple[str, str, Report]:
    """The first repair with which the finding is gone, if possible without a new one: the file, its text, and what is said then."""
    why, second = found.fix, None
    for file, text in candidates(found, Program(fix.texts)):
        after = examine({**fix.texts, file: text})
        if after.error not in ("", fix.after.error):
            why = f"{found.fix} (a repair was tried, and the program fails: {after.error})"
        elif after.has(found) and after.count(found.rule) >= fix.after.count(found.rule):
            why = f"{found.fix} (a repair was tried, and does not help)"
        elif not news(fix.after, after):
            return file, text, after
        else:
            second = second or (file, text, after)
    if second is None:
        raise ByHandError(why)
    return second


def is_settled(fix: Fix, found: Diagnosis, without: frozenset[str] = frozenset()) -> bool:
    return found.rule in without or any(found.is_same(known) for known, _ in fix.by_hand)


def news(before: Report, after: Report) -> list[Diagnosis]:
    """The findings of rules that had said nothing before."""
    return [one for one in after.findings if one.grade == FINDING and not before.count(one.rule)]


def candidates(found: Diagnosis, program: Program) -> list[tuple[str, str]]:
    """The files and texts that may be right, the best first."""
    made = []
    for source, edits in changes(found, program):
        try:
            text = source.edited(edits)
        except SyntaxError:
            continue
        if text != source.text:
            made.append((source.file, text))
    return made


def changes(found: Diagnosis, program: Program) -> list[Change]:
    repair = REPAIRS.get(found.rule)
    if repair is None:
        raise ByHandError(found.fix)
    try:
        return [*repair(found, program)]
    except SyntaxError as error:
        raise ByHandError(f"{error.filename} cannot be read") from None


def fixed_unchecked(before: Report) -> Fix:
    """Repair what has one possible repair, without running it."""
    fix, program = Fix(after=before), Program()
    kept: dict[str, list[Edit]] = {}
    for found in before.findings:
        try:
            possible = changes(found, program)
        except ByHandError as reason:
            fix.by_hand.append((found, str(reason)))
            continue
        if len(possible) != 1:
            fix.by_hand.append((found, f"{found.fix} (there are {len(possible)} ways to write it, and only a run tells which is right)"))
            continue
        source, edits = possible[0]
        others = kept.setdefault(source.file, [])
        if any(one.start < other.end and other.start < one.end for one in edits for other in others):
            fix.by_hand.append((found, "another repair is on the same line: run `fix` again after it"))
            continue
        try:
            fix.texts[source.file] = source.edited({*others, *edits})
        except SyntaxError:
            fix.by_hand.append((found, found.fix))
            continue
        others += edits
        fix.repaired.append(found)
    return fix
