"""Repair programs in this process, one after the other, and print what becomes of them: `python -m tests.doctor.mending FILE...`.

`python -m adjoint fix` runs each trial in a process of its own, most of whose time would be the start of Python.
"""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import random
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

import adjoint as ad
from adjoint._doctor import Doctor
from adjoint._doctor.fixing import Fix, Report, fixed
from adjoint._doctor.repairs import Diagnosis
from adjoint.cli.fix import diff


def trial(path: Path, texts: Mapping[str, str]) -> Report:
    """What the doctor says of a program, with another text if there is one."""
    text = texts.get(str(path)) or path.read_text(encoding="utf-8")
    linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))
    ad.manual_seed(0)
    random.seed(0)
    doctor = Doctor()
    error = ""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"), doctor:
        try:
            exec(compile(text, str(path), "exec"), {"__name__": "__main__", "__file__": str(path)})
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
    return Report([Diagnosis.of(finding) for finding in doctor.findings], error)


def mended(path: Path) -> tuple[Report, Fix]:
    """What the doctor says of a program, and its repair."""
    path = path.resolve()
    before = trial(path, {})
    fix = fixed(before, lambda texts: trial(path, texts))
    fix.originals = {file: Path(file).read_text(encoding="utf-8") for file in fix.texts}
    return before, fix


if __name__ == "__main__":
    ad.as_torch()
    for name in sys.argv[1:]:
        before, fix = mended(Path(name))
        told = {
            "path": name,
            "found": [one.rule for one in before.findings],
            "repaired": [one.rule for one in fix.repaired],
            "by hand": {one.rule: why for one, why in fix.by_hand},
            "left": [one.rule for one in fix.after.findings],
            "texts": list(fix.texts.values()),
            "diff": diff(fix),
        }
        print(json.dumps(told), flush=True)
