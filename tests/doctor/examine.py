"""Run programs under the doctor, one after the other, and print what it says: `python -m tests.doctor.examine FILE...`.

One process for many programs, since most of the time of each would be the start of Python.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import sys
import warnings
from pathlib import Path

import adjoint as ad
from adjoint._doctor import Doctor


def examine(path: str) -> dict[str, object]:
    code = compile(Path(path).read_text(encoding="utf-8"), path, "exec")
    ad.manual_seed(0)
    random.seed(0)
    doctor = Doctor()
    error = ""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"), doctor:
        try:
            exec(code, {"__name__": "__main__", "__file__": path})
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
    return {"path": path, "error": error, **doctor.as_dict()}


if __name__ == "__main__":
    ad.as_torch()
    for path in sys.argv[1:]:
        print(json.dumps(examine(path)), flush=True)
