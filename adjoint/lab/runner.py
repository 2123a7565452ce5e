"""Runs the editor's programs, each in a process of its own with limits on time, memory and output.

This keeps a mistake from harming the lab; it is no wall against a program that means harm, which could as well be run in a terminal.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, NamedTuple

from . import child
from .programs import PROGRAM

PACKAGES = str(Path(__file__).resolve().parents[2])
START = 120  # seconds to import adjoint, which is not the program's fault


class Limits(NamedTuple):
    seconds: float = 5.0
    memory: int = 1 << 29  # bytes, above what Python and adjoint take
    output: int = 1 << 16  # characters
    result: int = 1 << 23  # bytes of a trace


class Runner:
    """Runs one program at a time. A process with adjoint imported waits for the next, so that it starts at once."""

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008
        self.limits = limits
        self._turn = threading.Lock()
        self._waiting: _Process | None = None
        self._closed = False

    def run(self, code: str, trace: bool = True) -> dict[str, Any]:
        """`{"output": printed}` with a `"trace"`, or with an `"error"` of the form `{"type", "message", "line"}`."""
        with self._turn:
            process, self._waiting = self._waiting or _Process(self.limits), None
            try:
                return process.run(code, trace)
            finally:
                process.close()
                if not self._closed:
                    self._waiting = _Process(self.limits)

    def close(self) -> None:
        self._closed = True
        with self._turn:
            if self._waiting:
                self._waiting.close()
                self._waiting = None


def run_once(code: str, limits: Limits) -> dict[str, Any]:
    """What `Runner(limits).run(code, trace=False)` gives, without a process that waits for another program."""
    process = _Process(limits)
    try:
        return process.run(code, trace=False)
    finally:
        process.close()


class _Process:
    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.folder = tempfile.TemporaryDirectory(prefix="adjoint-lab-", ignore_cleanup_errors=True)
        self.result, self.place = Path(self.folder.name, "result"), Path(self.folder.name, "place")
        program = Path(self.folder.name, "program")
        program.mkdir()
        paths = os.pathsep.join(filter(None, [PACKAGES, os.environ.get("PYTHONPATH")]))
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-m", child.__name__, str(self.result), str(self.place), str(limits.memory), str(limits.seconds)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=program,
            env=os.environ | {"PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8"}, start_new_session=True,
        )  # fmt: skip
        self.ready, self.flooded = threading.Event(), False
        self.printed = bytearray()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        """Takes what is printed, as much of it as is shown, from the line on which says that the program may come."""
        printed = self.process.stdout
        assert isinstance(printed, io.BufferedReader)
        while printed.readline() not in (child.READY, b""):
            pass  # what was said while Python started is not the program's
        self.ready.set()
        while chunk := printed.read1(1 << 16):
            self.printed += chunk
            if len(self.printed) > self.limits.output:
                self.flooded = True
                return self.kill()

    def run(self, code: str, trace: bool) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.ready.wait(START)
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps({"code": code, "trace": trace}).encode())
            self.process.stdin.close()
        late = False
        try:
            self.process.wait(self.limits.seconds)
        except subprocess.TimeoutExpired:
            late = True
        self.kill()
        self.reader.join()
        answer = self._error(late) or json.loads(self.result.read_bytes())
        output = self.printed[: self.limits.output].decode(errors="replace").replace("\r\n", "\n")
        return {"output": output, **answer}

    def _error(self, late: bool) -> dict[str, Any] | None:
        """What the program could not say itself, because it was stopped or took Python down with it."""
        status = self.process.returncode
        if self.flooded:
            kind, message = "OutputLimit", f"The program printed more than {self.limits.output:,} characters and was stopped."
        elif late:
            kind = "TimeLimit"
            message = f"The program ran for more than {self.limits.seconds:g} seconds and was stopped. Does a loop never end?"
        elif not self.result.exists():
            if status < 0:
                name = signal.Signals(-status).name
                message = f"Python crashed ({name}). Only this program's process is gone; the lab goes on."
            else:
                message = f"The program ended Python itself (exit code {status}), so there is nothing to show."
            kind = "Crash"
        elif self.result.stat().st_size > self.limits.result:
            kind, message = "TraceLimit", "The program does more than the page can show. Make the tensors smaller, or the loops shorter."
        else:
            return None
        return {"error": {"type": kind, "message": message, "line": self._line()}}

    def _line(self) -> int | None:
        """Where the program stood when its time ran out: `faulthandler` noted the innermost call first."""
        if not self.place.exists():
            return None
        found = re.search(rf'File "{re.escape(PROGRAM)}", line (\d+)', self.place.read_text(encoding="utf-8", errors="replace"))
        return int(found[1]) if found else None

    def kill(self) -> None:
        """Ends the process and whatever it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.kill()
        self.reader.join()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self.folder.cleanup()
