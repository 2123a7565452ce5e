"""The command line: `python -m benchmarks [--only PATTERN] [--seconds S] [--json FILE] [--markdown FILE]`."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from . import __path__ as case_folders
from ._report import as_json, as_text, with_tables
from ._timing import CASES, Case

TORCH_THREADS = 2


def select_cases(pattern: str) -> list[Case]:
    """Import every public module of this folder and return the cases whose name matches."""
    for module in pkgutil.iter_modules(case_folders):
        if not module.name.startswith("_"):
            importlib.import_module(f"{__package__}.{module.name}")
    return [case for case in CASES if re.search(pattern, case.name, re.IGNORECASE)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure adjoint against PyTorch.")
    parser.add_argument("--only", metavar="PATTERN", default="", help="run only the cases whose name matches")
    parser.add_argument("--seconds", type=float, default=2.0, help="time for each timed case (default: 2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="put the tables into this page, below its own text")
    options = parser.parse_args(arguments)

    cases = select_cases(options.only)
    if not cases:
        parser.error(f"no case matches {options.only!r}")
    import torch

    import adjoint

    torch.set_num_threads(TORCH_THREADS)
    rows = []
    for case in cases:
        print(f"measuring: {case.name}", file=sys.stderr)
        rows.append(case.measure((adjoint, torch), options.seconds))
    print(as_text(rows))
    if options.json:
        options.json.write_text(as_json(rows), encoding="utf-8")
    if options.markdown:
        page = options.markdown.read_text(encoding="utf-8") if options.markdown.exists() else ""
        options.markdown.write_text(with_tables(page, rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
