"""`python -m adjoint lines`: a program as `run` runs it, and then what each of its lines cost."""

from __future__ import annotations

import argparse
import linecache
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, NoReturn

from .._cost.table import SORTS
from .._place import as_torch

USAGE = "python -m adjoint lines [OPTIONS] [-m MODULE | -c CODE | SCRIPT.py | NOTEBOOK.ipynb] [ARGUMENTS ...]"
EXPORTS = {
    "html": "a page with the source, which needs nothing else",
    "json": "the table, for programs to read",
    "speedscope": "for speedscope.app",
    "chrome": "for Perfetto, or the trace viewer of a browser",
}


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="python -m adjoint lines",
        usage=USAGE,
        description="Run a PyTorch program with adjoint in PyTorch's place, and say what each of its lines cost.",
    )
    found.add_argument("--top", type=int, metavar="N", help="only the N lines that cost most (default: all that matter)")
    found.add_argument("--sort", choices=SORTS, default="source", help="by what to sort lines (default: as in the source)")
    found.add_argument("--memory", action="store_true", help="also the peak of allocated bytes, which makes the program slower")
    found.add_argument("--package", action="append", default=[], metavar="NAME", help="an installed package whose lines count as yours")
    for name, text in EXPORTS.items():
        found.add_argument(f"--{name}", metavar="FILE", help=text)
    return found


def split(given: Sequence[str]) -> tuple[list[str], list[str]]:
    """Own options, and the program with its arguments.

    >>> split(["--top", "3", "train.py", "--top", "5"])
    (['--top', '3'], ['train.py', '--top', '5'])
    """
    place = 0
    alone = ("--memory", "-h", "--help")
    while place < len(given) and given[place].startswith("-") and given[place] not in ("-m", "-c"):
        place += 1 if given[place] in alone or "=" in given[place] else 2
    return list(given[:place]), list(given[place:])


def lines(given: Sequence[str]) -> NoReturn:
    """Run, show and write; then end with the code of the program."""
    from .._cost import Measuring
    from . import ran

    own, program = split(given)
    options = parser().parse_args(own)
    if options.top is not None and options.top < 1:
        parser().error("argument --top: show 1 line or more")
    if options.sort == "peak" and not options.memory:
        parser().error("argument --sort: peaks are measured with --memory")
    if missing := [name for name in options.package if find_spec(name) is None]:
        parser().error(f"argument --package: no module named {missing[0]!r} is installed")
    packages = list(options.package)
    if program[:1] == ["-m"] and len(program) > 1 and find_spec(package := program[1].partition(".")[0]) is not None:
        packages.append(package)
    if program[:1] == ["-c"] and len(program) > 1:
        linecache.cache["<string>"] = len(program[1]), None, program[1].splitlines(keepends=True), "<string>"
    as_torch()  # now, since this is not the program's time
    code: Any
    with Measuring(options.memory, packages) as cost:
        try:
            code = ran(program, "lines")
        except SystemExit as end:
            code = end.code
    if any(line.number for line in cost.lines):
        print(cost.table(options.top, options.sort))
        for name in EXPORTS:
            if path := getattr(options, name):
                getattr(cost, "export_chrome_trace" if name == "chrome" else f"export_{name}")(path)
    sys.exit(code)
