"""The process in which one program of the editor runs; see `runner`."""

from __future__ import annotations

import builtins
import faulthandler
import json
import linecache
import os
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

PROGRAM = "<program>"
READY = b"ready\n"
EARLY = 0.25  # seconds before the end at which the place is noted
PROCESSES = ("os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.startfile", "subprocess.Popen", "pty.spawn")


def main(result: str, place: str, memory: str, seconds: str) -> NoReturn:
    import adjoint  # noqa: F401  # before the clock runs

    limit_memory(int(memory))
    sys.stdout.write(READY.decode())
    request = json.load(sys.stdin)
    builtins.input = no_keyboard
    sys.addaudithook(no_processes)
    with Path(place).open("w", encoding="utf-8") as noted:
        faulthandler.dump_traceback_later(max(float(seconds) - EARLY, 0.01), file=noted)
        answer = run(request["code"], request["trace"])
        faulthandler.cancel_dump_traceback_later()
    Path(result).write_text(json.dumps(answer), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)  # threads that the program left behind are nobody's any more


def run(code: str, trace: bool) -> dict[str, Any]:
    linecache.cache[PROGRAM] = (len(code), None, code.splitlines(keepends=True), PROGRAM)  # messages quote the user's lines
    try:
        if trace:
            found = import_module("adjoint.viz").trace(code)
            return {"trace": found, **({"error": found["error"]} if "error" in found else {})}
        exec(compile(code, PROGRAM, "exec", dont_inherit=True), {"__name__": "__main__"})
    except BaseException as error:
        return {"error": described(error)}
    return {}


def described(error: BaseException) -> dict[str, Any]:
    kind, message = type(error).__name__.removeprefix("_"), str(error)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == PROGRAM]
    line = lines[-1] if lines else None
    if isinstance(error, SyntaxError):
        message, line = error.msg, error.lineno
    elif isinstance(error, SystemExit):
        message = f"The program ended itself with sys.exit({'' if error.code is None else repr(error.code)})."
    elif isinstance(error, MemoryError):
        kind, message = "MemoryError", f"{message or 'No memory is left'}. Programs of the lab get {budget() / 2**30:g} GiB."
    return {"type": kind, "message": message, "line": line}


def no_keyboard(prompt: object = "") -> str:
    raise EOFError("input() has nobody to ask in the lab: write the value into the program")


def no_processes(event: str, arguments: tuple[Any, ...]) -> None:
    if event in PROCESSES:
        raise RuntimeError(f"Programs of the lab run in one process and may not start others ({event}).")


_budget = 0


def budget() -> int:
    return _budget


def limit_memory(size: int) -> None:
    """Let the process take so many bytes more than it has, where the system can limit that."""
    global _budget
    _budget = size
    try:
        import resource
    except ImportError:  # Windows
        return
    taken = Path("/proc/self/statm")
    base = int(taken.read_text(encoding="ascii").split()[0]) * resource.getpagesize() if taken.exists() else 4 << 30
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    wanted = base + size
    resource.setrlimit(resource.RLIMIT_AS, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


if __name__ == "__main__":
    main(*sys.argv[1:])
