"""`python -m adjoint doctor train.py`: run a program as `run` does, and say what is wrong with its training."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from .._doctor import Doctor
from .._doctor.finding import FINDING
from .run import NoProgramError, own_frames, run

PROGRAM = "[-m MODULE | -c CODE | SCRIPT.py | NOTEBOOK.ipynb] [ARGUMENTS ...]"
USAGE = f"python -m adjoint doctor [--json FILE] [--html FILE] [--ignore RULE] {PROGRAM}"
TEXT = """Run a program as `python -m adjoint run` does, and find the mistakes in its training that no error tells. The findings are
printed at the end, and the first of each kind at once. The exit code is 1 if there are any, otherwise the program's own."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m adjoint doctor", usage=USAGE, description=TEXT)
    made.add_argument("--json", metavar="FILE", help="write the report for programs to read")
    made.add_argument("--html", metavar="FILE", help="write it as a page, with the source beside it")
    made.add_argument("--ignore", action="append", default=[], metavar="RULE", help="leave a rule out; may be given several times")
    made.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return made


def examine(arguments: Sequence[str]) -> int:
    """Run a program under the doctor; its exit code, or 1 if there are findings."""
    options = parser().parse_args(list(arguments))
    try:
        doctor = Doctor(ignore=options.ignore, live=sys.stderr)
        for path in filter(None, (options.json, options.html)):
            if not Path(path).resolve().parent.is_dir():
                raise ValueError(f"there is no folder {Path(path).resolve().parent} to write {path} into")
    except ValueError as error:
        print(f"python -m adjoint doctor: {error}", file=sys.stderr)
        return 2
    code = 0
    try:
        with doctor:
            run(options.program)
    except NoProgramError as error:
        print(f"python -m adjoint doctor: {error}", file=sys.stderr)
        return 2
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        sys.excepthook(type(error), error, own_frames(error))
        code = 1
    print(f"\n{doctor}", file=sys.stderr)
    if options.json:
        Path(options.json).write_text(json.dumps(doctor.as_dict(), indent=2) + "\n", encoding="utf-8")
    if options.html:
        from .._doctor.page import page

        Path(options.html).write_text(page(doctor), encoding="utf-8")
    return 1 if any(finding.grade == FINDING for finding in doctor.findings) else code
