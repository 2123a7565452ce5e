"""The process in which one program of the editor runs; see `runner`."""

from __future__ import annotations

import builtins
import faulthandler
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from .programs import described, execute, show

READY = b"ready\n"
EARLY = 0.25  # seconds before the end at which the place is noted
PROCESSES = ("os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.startfile", "subprocess.Popen", "pty.spawn")


def main(result: str, place: str, memory: str, seconds: str) -> NoReturn:
    from adjoint.viz import trace  # before the clock runs

    limit_memory(int(memory))
    sys.stdout.write(READY.decode())
    request = json.load(sys.stdin)
    builtins.input = no_keyboard
    sys.addaudithook(no_processes)
    with Path(place).open("w", encoding="utf-8") as noted:
        faulthandler.dump_traceback_later(max(float(seconds) - EARLY, 0.01), file=noted)
        answer = run(request["code"], trace if request["trace"] else None)
        faulthandler.cancel_dump_traceback_later()
    Path(result).write_text(json.dumps(answer), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)  # threads that the program left behind are nobody's any more


def run(code: str, trace: Callable[[str], dict[str, Any]] | None) -> dict[str, Any]:
    if trace is None:
        answer, error = {}, execute(code, {"__name__": "__main__"})
    else:
        try:
            show(code)
            answer = {"trace": trace(code)}
            error = answer["trace"].get("error")  # what happened until then is shown
        except BaseException as raised:
            answer, error = {}, described(raised)
    if error is None:
        return answer
    if error["type"].endswith("MemoryError"):
        message = f"{error['message'] or 'No memory is left'}. Programs of the lab get {_budget / 2**30:g} GiB."
        error |= {"type": "MemoryError", "message": message}
    return answer | {"error": error}


def no_keyboard(prompt: object = "") -> str:
    raise EOFError("input() has nobody to ask in the lab: write the value into the program")


def no_processes(event: str, arguments: tuple[Any, ...]) -> None:
    if event in PROCESSES:
        raise RuntimeError(f"Programs of the lab run in one process and may not start others ({event}).")


_budget = 0  # bytes


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
