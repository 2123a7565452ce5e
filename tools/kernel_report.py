"""List which elementwise ops have kernels, and why the others have none: `python tools/kernel_report.py [--missing] [PATTERN]`.

For every op that broadcasts, the forward and each rule are traced for tensors (T, TT, TTT) and, where the op takes numbers, for a tensor
and a number (TS). Nothing is compiled.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from typing import Any

import adjoint  # noqa: F401  (declares the ops)
from adjoint._kernels.expr import Untraceable
from adjoint.ops._compiled import forward_formula, rule_formula
from adjoint.ops._registry import OPS, Op


def kinds_of(op: Op) -> list[str]:
    """The combinations of tensors and numbers for which the generated code has a fast path."""
    count = len(op.inputs)
    kinds = ["T" * count]
    if op.scalars and count == 2:
        kinds.append("TS")
    elif count > 1 and op.inputs[-1] in op.optional:
        kinds.append("T" * (count - 1) + "S")
    return kinds


def rows(op: Op) -> Iterator[tuple[str, str, Any]]:
    """Kinds, what is computed (a rule by its input's name), and its formula or the reason why there is none."""
    for kinds in kinds_of(op):
        for name in ("", *op.rules):
            if name and kinds[op.inputs.index(name)] == "S":
                continue
            try:
                yield kinds, name or "forward", rule_formula(op, kinds, name) if name else forward_formula(op, kinds)
            except Untraceable as reason:
                yield kinds, name or "forward", reason


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="List which elementwise ops have kernels, and why the others have none.")
    parser.add_argument("pattern", nargs="?", default="", help="only ops whose name matches")
    parser.add_argument("--missing", action="store_true", help="only what has no kernel")
    options = parser.parse_args(arguments)
    found = total = 0
    for op in OPS.values():
        if not op.broadcasts or not op.floats or not re.search(options.pattern, op.name):
            continue
        for kinds, what, formula in rows(op):
            total += 1
            missing = isinstance(formula, Untraceable)
            found += not missing
            if missing:
                print(f"{op.name:20} {kinds:4} {what:10} none: {formula}")
            elif not options.missing:
                cases = formula.cases["f32"]
                print(f"{op.name:20} {kinds:4} {what:10} {cases[0].expr!r}" + (f" and {len(cases) - 1} more" if len(cases) > 1 else ""))
    print(f"{found} of {total} have a kernel")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
