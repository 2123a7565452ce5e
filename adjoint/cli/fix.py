"""`python -m adjoint fix train.py`: small repairs of what the doctor finds, as a diff."""

from __future__ import annotations

import argparse
import difflib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from .._doctor.finding import FINDING
from .._doctor.fixing import Fix, Report, fixed, fixed_unchecked
from .._doctor.repairs import Diagnosis, Place
from .._doctor.repairs.registry import read
from .._doctor.rules import RULES
from .._site import relative
from .doctor import PROGRAM

USAGE = f"python -m adjoint fix [--write] [--no-verify] [--ignore RULE] {PROGRAM}"
TEXT = """Run a program under the doctor, and repair what it finds by edits of single lines. The repairs are printed as a diff. Each is
checked first: the repaired program is run once more, in a process of its own, and the finding must be gone. The exit code is 1 if there are
repairs that were not written, or findings left after writing them; 0 if there is nothing to repair."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m adjoint fix", usage=USAGE, description=TEXT)
    made.add_argument("--write", action="store_true", help="change the files")
    made.add_argument("--no-verify", action="store_true", help="do not run the repaired program")
    made.add_argument("--ignore", action="append", default=[], metavar="RULE", help="leave a rule out; may be given several times")
    made.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return made


def mend(arguments: Sequence[str]) -> int:
    options = parser().parse_args(list(arguments))
    if unknown := sorted(set(options.ignore) - {rule.name for rule in RULES}):
        say(f"python -m adjoint fix: there is no rule {unknown[0]!r}")
        return 2
    started = time.time()
    try:
        before = examined({}, options.program, options.ignore, quiet=False)
    except NothingRanError as error:
        say(f"python -m adjoint fix: {error}")
        return 2
    fix = fixed_unchecked(before) if options.no_verify else fixed(before, lambda texts: examined(texts, options.program, options.ignore))
    for file in fix.texts:
        fix.originals[file] = read(file)
        if Path(file).stat().st_mtime > started:
            say(f"python -m adjoint fix: {relative(file)} has changed since the program was started, and nothing was written. Run it again")
            return 2
    print(diff(fix), end="", flush=True)
    say(summary(fix, before, options.no_verify, options.write))
    if fix.texts and not options.write:
        return 1
    for file, text in fix.texts.items():
        write(Path(file), text)
    left = [one for one, _ in fix.by_hand] if options.no_verify else fix.after.findings
    return 1 if any(one.grade == FINDING for one in left) else 0


class NothingRanError(Exception):
    """The program could not be started."""


def examined(texts: Mapping[str, str], program: Sequence[str], ignore: Sequence[str], quiet: bool = True) -> Report:
    """What the doctor says of a program with other texts for some files, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        order, report = Path(folder, "order.json"), Path(folder, "report.json")
        order.write_text(json.dumps({"texts": dict(texts), "ignore": list(ignore)}), encoding="utf-8")
        output = subprocess.DEVNULL if quiet else None
        command = [sys.executable, "-m", "adjoint.cli.trial", str(order), str(report), *program]
        done = subprocess.run(command, stdout=output, stderr=output, check=False)
        if not report.exists():
            return Report([], f"the process ended with code {done.returncode}")
        told = json.loads(report.read_text(encoding="utf-8"))
    if done.returncode == 2:
        raise NothingRanError(told["error"])
    return Report([diagnosis(**one) for one in told["findings"]], told["error"])


def diagnosis(places: dict[str, dict[str, int]], texts: list[str], **facts: str) -> Diagnosis:
    return Diagnosis(places={role: Place(**place) for role, place in places.items()}, texts=tuple(texts), **facts)  # type: ignore[arg-type]


def diff(fix: Fix) -> str:
    """The repairs as `git apply` and `patch -p1` take them."""
    parts = []
    for file, text in fix.texts.items():
        old, new = (one.splitlines(keepends=True) for one in (fix.originals[file], text))
        name = Path(relative(file)).as_posix()
        for line in difflib.unified_diff(old, new, f"a/{name}", f"b/{name}"):
            parts.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(parts)


def summary(fix: Fix, before: Report, unchecked: bool, written: bool) -> str:
    """What was repaired, what is left to do by hand, and what comes next."""
    lines = [f"repaired: {one.message} [{one.rule}]" for one in fix.repaired]
    lines += [f"by hand: {why}\n  {one.message} [{one.rule}]{where(one)}" for one, why in fix.by_hand]
    if fix.repaired:
        checked = "not run again" if unchecked else "checked by running the repaired program"
        ending = "written" if written else "`--write` applies them"
        lines.append(f"{len(fix.repaired)} repair{'s' * (len(fix.repaired) != 1)}, {checked}; {ending}")
    elif not before.findings:
        lines.append("nothing to repair")
    return "\n".join(lines)


def where(found: Diagnosis) -> str:
    place = next(iter(found.places.values()), None)
    return "" if place is None else f" {relative(place.file)}:{place.line}"


def write(file: Path, text: str) -> None:
    """Put a new file in the place of an old one, whole or not at all."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="", dir=file.parent, prefix=file.stem, delete=False) as stream:
        stream.write(text)
    shutil.copymode(file, stream.name)
    Path(stream.name).replace(file)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
