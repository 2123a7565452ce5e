"""The command line: `python -m fuzz [--minutes N] [--seed S] [--target NAME] [--kernels default|0]`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .targets import load
from .work import MODES, Settings, fuzz, replay

FOUND = Path(__file__).parent / "found"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Run random programs with adjoint and PyTorch, and compare.")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long (default: 5)")
    parser.add_argument("--seed", type=int, help="where to start; the same seed gives the same programs (default: by the clock)")
    parser.add_argument("--target", action="append", choices=sorted(load()), help="a family of programs (default: all); can be repeated")
    parser.add_argument("--kernels", action="append", choices=MODES, help="how kernels are used (default: every way); can be repeated")
    parser.add_argument("--count", type=int, help="stop after so many programs")
    parser.add_argument("--layout", action="store_true", help="compare strides too")
    parser.add_argument("--found", type=Path, default=FOUND, help="where to write what is found")
    parser.add_argument("--replay", type=Path, nargs="+", metavar="FILE", help="run programs that were found before")
    options = parser.parse_args(arguments)
    if options.replay:
        return replay(options.replay)
    targets = options.target or sorted(load())
    modes = options.kernels or list(MODES)
    seed = int(time.time()) if options.seed is None else options.seed
    return fuzz(Settings(targets, modes, seed, options.found, options.minutes * 60, options.count, options.layout))


if __name__ == "__main__":
    sys.exit(main())
