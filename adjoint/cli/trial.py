"""`python -m adjoint.cli.trial ORDER REPORT PROGRAM...`: run a program under the doctor, with other texts for some of its files.

`fix` does so in a process of its own. Nothing is written but the report: who reads a repaired file gets the text of the order instead.
"""

from __future__ import annotations

import io
import json
import linecache
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import asdict
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

from .._doctor import Doctor
from .._doctor.repairs import Diagnosis
from .run import NoProgramError, own_frames, run


def read_instead(texts: Mapping[str, str]) -> None:
    """Let imports, scripts and tracebacks find other texts than those on disk."""
    for file, text in texts.items():
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    opened, loaded = io.open_code, SourceFileLoader.get_code

    def open_code(path: str) -> Any:
        text = texts.get(str(Path(path).resolve()))
        return opened(path) if text is None else io.BytesIO(text.encode())

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
        text = texts.get(str(Path(loader.path).resolve()))
        return loaded(loader, name) if text is None else compile(text, loader.path, "exec", dont_inherit=True)

    io.open_code = open_code
    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]


def main(order: str, report: str, program: list[str]) -> int:
    wanted = json.loads(Path(order).read_text(encoding="utf-8"))
    read_instead(wanted["texts"])
    doctor = Doctor(ignore=wanted["ignore"])
    error, code = "", 0
    try:
        with redirect_stdout(sys.stderr), doctor:  # what is printed to stdout is the diff
            run(program)
    except NoProgramError as reason:
        error, code = str(reason), 2
    except SystemExit as end:
        error = "" if end.code in (None, 0) else f"SystemExit: {end.code}"
    except Exception as raised:
        sys.excepthook(type(raised), raised, own_frames(raised))
        error = f"{type(raised).__name__}: {raised}"
    findings = [asdict(Diagnosis.of(finding)) for finding in doctor.findings]
    Path(report).write_text(json.dumps({"findings": findings, "error": error}), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
