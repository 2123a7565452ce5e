"""What `python -m adjoint learn` does. Everything is printed."""

from __future__ import annotations

import shutil
import sys
import textwrap
from pathlib import Path

from . import _progress as progress
from ._child import verdict_in_child
from ._exercise import KINDS, NAMES, Exercise, load
from ._judging import Verdict
from ._notebook import notebook, program

COMMAND = "python -m adjoint learn"
SHOWN = 2_000  # characters of what a solution prints


class Refused(Exception):  # noqa: N818
    """Why a command does nothing, for people."""


def run(action: str, name: str | None = None, in_notebook: bool = False, force: bool = False) -> int:
    """Do what a command says. The exit code is 0 if it is done or the solution is right, 1 if not yet, 2 if nothing could be done."""
    try:
        match action:
            case "list":
                overview()
            case "start":
                if not name:
                    raise Refused(f"Which exercise? {COMMAND} list")
                start(known(name), in_notebook, force)
            case "check":
                return int(not check_file(_file(name)))
            case "hint":
                hint(Path(name or _file(None)).stem)
            case "solution":
                solution(Path(name or _file(None)).stem)
    except Refused as why:
        print(why, file=sys.stderr)
        return 2
    return 0


def overview() -> None:
    """All exercises, and which are done."""
    records = progress.read()
    for kind, names in KINDS.items():
        print(f"\n{kind}")
        for name in names:
            record = records.get(name, progress.Record())
            state = "done" if record.passed else "begun" if record.attempts else ""
            print(f"  {state:<6} {name:<15} {load(name).title}")
    print(f"\n{COMMAND} start NAME    writes NAME.py here; --notebook writes NAME.ipynb")
    print(f"{COMMAND} check         checks it; `hint` helps, `solution` shows one way after an attempt")


def start(exercise: Exercise, in_notebook: bool, force: bool) -> None:
    """Write the file to begin with, and print the task."""
    path = Path(f"{exercise.name}{'.ipynb' if in_notebook else '.py'}")
    if path.exists() and not force and not _agreed(f"{path} exists. Replace it, and lose what is in it?"):
        raise Refused(f"{path} exists and is left as it is. `{COMMAND} start {exercise.name} --force` replaces it.")
    text = notebook(exercise) if in_notebook else f'"""{wrapped(exercise.task, 88)}\n"""\n\n{exercise.skeleton}'
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refused(f"{path} cannot be written here: {error.strerror}") from None
    say(f"{exercise.task}\n\nWrite your solution into {path}. Then: {COMMAND} check")


def check_file(path: Path) -> bool:
    """Check a solution in a process of its own, and say what is wrong with it."""
    verdict, printed = verdict_in_child(path.stem, _text(path), str(path.resolve()))
    if printed.strip():
        print(f"It printed:\n{printed.strip()[:SHOWN]}\n")
    return answer(path.stem, verdict)


def hint(name: str) -> None:
    """Print the next hint; each says more than the one before."""
    exercise, record = known(name), progress.of(name)
    count = len(exercise.hints)
    number = min(record.hints, count - 1)
    record.hints = number + 1
    progress.write(name, record)
    say(f"Hint {number + 1} of {count}: {exercise.hints[number]}")
    if record.hints == count and record.attempts:
        print(f"That was the last one. {COMMAND} solution {name}")


def solution(name: str) -> None:
    """Print one way to do it, once it was tried."""
    exercise = known(name)
    if not progress.of(name).attempts:
        raise Refused(f"Try it first: the solution of {name} is shown after an attempt. A hint comes without one: {COMMAND} hint {name}")
    print(exercise.solution)


def answer(name: str, verdict: Verdict) -> bool:
    """Say the verdict, and keep it."""
    record = progress.of(name)
    record.attempts += verdict.begun
    record.passed |= verdict.passed
    progress.write(name, record)
    if not verdict.passed:
        say(f"{name}: not yet.\n{verdict.text}")
        return False
    done = {other for other, kept in progress.read().items() if kept.passed} | {name}
    print(f"{name}: right. {len(done & set(NAMES))} of {len(NAMES)} done.")
    if following := next((other for other in NAMES if other not in done), ""):
        print(f"Next: {COMMAND} start {following}")
    return True


def say(text: str) -> None:
    """Print a text. In a terminal its lines end between words."""
    print(wrapped(text, min(shutil.get_terminal_size().columns, 100)) if sys.stdout.isatty() else text)


def wrapped(text: str, width: int) -> str:
    """The lines of a text, broken anew.

    >>> print(wrapped("One two three\\n\\n- four five six", 10))
    One two
    three
    <BLANKLINE>
    - four
      five six
    """
    style = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    lines = []
    for line in text.splitlines():
        style.subsequent_indent = "  " if line.startswith(("- ", "  ")) else ""
        lines += style.wrap(line) or [""]
    return "\n".join(lines)


def known(name: str) -> Exercise:
    try:
        return load(name)
    except KeyError as error:
        raise Refused(error.args[0]) from None


def _file(name: str | None) -> Path:
    """The file of an exercise, named by itself or by the exercise; the one that was changed last if none is named."""
    if name and Path(name).suffix in (".py", ".ipynb"):
        paths = [Path(name)]
    else:
        paths = [Path(f"{stem}{ending}") for stem in ([known(name).name] if name else NAMES) for ending in (".py", ".ipynb")]
    found = [path for path in paths if path.is_file()]
    if not found:
        raise Refused(f"There is no {paths[0]} here." if name else f"No exercise is begun in this folder. {COMMAND} start {NAMES[0]}")
    latest = max(found, key=lambda path: path.stat().st_mtime)
    known(latest.stem)
    return latest


def _text(path: Path) -> str:
    """The program in a file."""
    try:
        text = path.read_text(encoding="utf-8")
        return program(text) if path.suffix == ".ipynb" else text
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path} cannot be read: {error}") from None
    except (ValueError, KeyError, TypeError):
        raise Refused(f"{path} is not a notebook, or is damaged.") from None


def _agreed(question: str) -> bool:
    return sys.stdin.isatty() and input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
