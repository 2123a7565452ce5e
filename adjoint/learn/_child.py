"""A solution judged in a process of its own, with limits on its time, its memory and what it prints."""

from __future__ import annotations

import json
import secrets
import sys
from dataclasses import asdict
from pathlib import Path

from ..lab.runner import Limits, run_once
from ._exercise import load
from ._judging import SECONDS, Verdict, judge


def verdict_in_child(name: str, source: str, path: str, seconds: float = SECONDS) -> tuple[Verdict, str]:
    """The verdict, and what the solution has printed."""
    mark = secrets.token_hex()  # begins the line that is the verdict; what the solution prints cannot be taken for it
    code = f"from {__name__} import report; report({mark!r}, {name!r}, {source!r}, {path!r}, {seconds!r})"
    # The solution is stopped from within, where its line is known; from without only if it will not be stopped.
    answer = run_once(code, Limits(seconds=seconds + 3))
    printed, found, verdict = answer["output"].rpartition(mark)
    if found:
        return Verdict(**json.loads(verdict)), printed
    return Verdict(False, answer.get("error", {}).get("message") or "The solution ended Python before it could be checked."), verdict


def report(mark: str, name: str, source: str, path: str, seconds: float) -> None:
    """Called in the child: print the verdict."""
    sys.path.insert(0, str(Path(path).parent))  # a solution may use another one beside it
    print(f"{mark}{json.dumps(asdict(judge(load(name), source, path, seconds=seconds)))}")
