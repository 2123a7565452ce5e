"""The work of fuzzing: processes that make programs and run them, one for each way to use kernels, and one that watches over them.

A program that ends its process, or does not end, is a finding like any other; so every program runs in a process of its own kind, which
says what it is about to do. What is found is made smaller, and written to a file that stands alone.
"""

from __future__ import annotations

import ast
import multiprocessing
import os
import random
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from .program import Program, printed
from .shrink import shrink
from .targets import load

MODES = ("default", "0")  # ADJOINT_KERNELS: with kernels, and without
PATIENCE = 30.0  # seconds for a program
SHRINKING = 60.0  # seconds for making one smaller
MEMORY = 12 * 2**30  # bytes of address space
WORKER_PROGRAMS = 2000  # a process is replaced after so many, so that memory does not decide what is found


@dataclass
class Settings:
    """What to fuzz, and for how long."""

    targets: Sequence[str]
    modes: Sequence[str]
    seed: int
    found: Path  # the folder for what is found
    seconds: float = 300.0
    count: int | None = None  # of programs
    layout: bool = False  # compare strides too
    shrinks: bool = True  # make smaller what is found


@dataclass
class Finding:
    """Something that is wrong."""

    target: str
    mode: str
    seed: str
    kind: str  # what of, and in which statement: findings of the same kind are written once
    text: str
    program: Program = ()

    def written(self) -> str:
        """The file that shows it."""
        notes = (self.text, f"found by: target {self.target}, seed {self.seed}, ADJOINT_KERNELS={self.mode}")
        return printed(self.program, *notes) if self.program else "\n".join(notes) + "\n"


# ---- in a process of its own --------------------------------------------------------------------------------------------------------


def serve(channel: Connection, mode: str, layout: bool) -> None:
    """Do what comes through the channel until nothing comes any more: make and examine programs by seed, or try given ones."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import torch

    import adjoint

    from .run import compared

    torch.set_num_threads(1)
    torch.set_warn_always(False)
    targets = load()

    def difference(program: Program) -> Any:
        return compared([step.text() for step in program], torch, adjoint, 1, layout)

    def shrunk(program: Program, found: Any) -> Program:
        return shrink(program, lambda smaller: same_kind(difference(smaller), found), SHRINKING)

    while True:
        job = channel.recv()
        if job is None:
            return
        target, seed, program = job
        if program is not None:
            channel.send(("adjoint", None))
            channel.send(("done", difference(program)))
            continue
        if hasattr(targets[target], "check"):
            channel.send(("adjoint", None))
            text = targets[target].check(random.Random(f"{target} {seed}"))
            channel.send(("done", Finding(target, mode, seed, kind_of(target, text), text) if text else None))
            continue
        from .generate import Builder

        channel.send(("torch", None))
        builder = Builder(torch, f"{target} {seed}")
        targets[target].program(builder)
        program = builder.program
        channel.send(("adjoint", program))
        found = difference(program)
        if found is None:
            channel.send(("done", None))
            continue
        kind = kind_of(found.statement, found.what)
        channel.send(("kind", kind))
        if channel.recv():  # it is a new one
            program = shrunk(program, found)
        channel.send(("done", Finding(target, mode, seed, kind, str(difference(program) or found), program)))


def kind_of(statement: str, what: str) -> str:
    """What a finding is about, without its numbers."""
    call = re.search(r"(?:torch)?\.(?!from_numpy|tensor\b|random|integers|uniform)[a-zA-Z_.]+\w*(?=\()", statement)
    without_numbers = re.sub(r"[0-9.]+", "#", what.split(",", maxsplit=1)[0])
    return f"{call[0] if call else statement[:30]}: {without_numbers[:60]}"


def same_kind(difference: Any, other: Any) -> bool:
    return difference is not None and re.sub(r"\W.*", "", difference.what) == re.sub(r"\W.*", "", other.what)


# ---- watching over them -------------------------------------------------------------------------------------------------------------


class Worker:
    """A process, and what it was last heard to do."""

    def __init__(self, mode: str, layout: bool) -> None:
        self.mode = mode
        self.layout = layout
        context = multiprocessing.get_context("spawn")
        self.channel, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, mode, layout), daemon=True)
        before = os.environ.pop("ADJOINT_KERNELS", None)
        try:
            if mode != "default":
                os.environ["ADJOINT_KERNELS"] = mode
            self.process.start()
        finally:
            os.environ.pop("ADJOINT_KERNELS", None)
            if before is not None:
                os.environ["ADJOINT_KERNELS"] = before
        theirs.close()
        self.job: tuple[str, str, Program | None] = ("", "", None)
        self.phase = ""
        self.program: Program = ()
        self.since = 0.0
        self.done = 0

    def start(self, target: str, seed: str, program: Program | None = None) -> None:
        self.job = target, seed, program
        self.phase, self.program, self.since = "torch", program or (), time.monotonic()
        self.channel.send(self.job)

    def patience(self) -> float:
        return PATIENCE + (SHRINKING * 2 if self.phase == "shrink" else 0) + (30 if not self.done else 0)

    def late(self) -> bool:
        return time.monotonic() - self.since > self.patience()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()

    def answer(self) -> tuple[str, Any]:
        """What it says next; "died" if it cannot any more."""
        try:
            what, content = self.channel.recv()
        except (EOFError, OSError):
            self.process.join()
            return "died", self.process.exitcode
        self.since = time.monotonic()
        if what in ("torch", "adjoint"):
            self.phase = what
            self.program = content or self.program
        elif what == "kind":
            self.phase = "shrink"
        else:
            self.done += 1
        return what, content


def tried(worker: list[Worker], program: Program) -> Any:
    """What a fresh process makes of a program: a difference, None, or "died" or "hangs"."""
    if not worker[0].process.is_alive():
        worker[0] = Worker(worker[0].mode, worker[0].layout)
    current = worker[0]
    current.start("", "", program)
    while True:
        if not wait([current.channel], 10.0 + (30 if not current.done else 0)):
            current.kill()
            return "hangs"
        what, content = current.answer()
        if what == "died":
            return "died" if current.phase == "adjoint" else None
        if what == "done":
            return content


class Fuzzer:
    """A session."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.jobs = self.programs()
        self.end = time.monotonic() + settings.seconds
        self.kinds: dict[str, int] = {}
        self.ran = 0
        self.torch_failed = 0

    def programs(self) -> Iterator[tuple[str, str]]:
        settings, number = self.settings, 0
        while settings.count is None or number < settings.count:
            yield random.Random(f"{settings.seed} {number}").choice(settings.targets), f"{settings.seed}-{number}"
            number += 1

    def run(self) -> None:
        workers = [Worker(mode, self.settings.layout) for mode in self.settings.modes]
        try:
            busy = [worker for worker in workers if self.give(worker)]
            while busy:
                ready = wait([worker.channel for worker in busy], 1.0)
                for worker in list(busy):
                    if worker.channel in ready:
                        finished = self.hear(worker)
                    elif worker.late():
                        worker.kill()
                        self.died(worker, "does not end")
                        finished = True
                    else:
                        continue
                    if finished:
                        busy.remove(worker)
                        fresh = self.fresh(worker)
                        if self.give(fresh):
                            busy.append(fresh)
                        else:
                            fresh.kill()
                self.show()
        finally:
            for worker in workers:
                worker.kill()

    def fresh(self, worker: Worker) -> Worker:
        if worker.process.is_alive() and worker.done < WORKER_PROGRAMS:
            return worker
        worker.kill()
        return Worker(worker.mode, self.settings.layout)

    def give(self, worker: Worker) -> bool:
        job = next(self.jobs, None) if time.monotonic() < self.end else None
        if job is not None:
            worker.start(*job)
        return job is not None

    def hear(self, worker: Worker) -> bool:
        what, content = worker.answer()
        if what == "died":
            self.died(worker, f"ended its process ({content})")
        elif what == "kind":
            worker.channel.send(self.settings.shrinks and content not in self.kinds)
        elif what == "done":
            self.ran += 1
            if content is not None:
                self.keep(content)
        return what in ("died", "done")

    def died(self, worker: Worker, how: str) -> None:
        """A program that ended or blocked its process: of interest if it was our turn."""
        self.ran += 1
        if worker.phase == "torch":
            self.torch_failed += 1
            return
        target, seed, _ = worker.job
        kind = f"{target}: {re.sub(r'[0-9]+', '#', how)}"
        program = worker.program
        if program and kind not in self.kinds:
            fresh = [Worker(worker.mode, self.settings.layout)]
            program = shrink(program, lambda smaller: tried(fresh, smaller) in ("died", "hangs"), 2 * SHRINKING)
            fresh[0].kill()
        self.keep(Finding(target, worker.mode, seed, kind, f"{how}, while {worker.phase} ran", program))

    def keep(self, finding: Finding) -> None:
        self.kinds[finding.kind] = self.kinds.get(finding.kind, 0) + 1
        if self.kinds[finding.kind] > 1:
            return
        self.settings.found.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"\W+", "_", f"{finding.target}_{finding.kind}")[:80].strip("_")
        path = self.settings.found / f"{name}_{finding.mode}.py"
        path.write_text(finding.written(), encoding="utf-8")
        print(f"\r{finding.text}\n  -> {path}\n", flush=True)

    def show(self) -> None:
        if sys.stderr.isatty():
            left = max(0, self.end - time.monotonic())
            print(f"\r{self.ran} programs, {len(self.kinds)} findings, {left:.0f} s left ", end="", file=sys.stderr, flush=True)

    def summary(self) -> str:
        lines = [f"{self.ran} programs (seed {self.settings.seed}), {len(self.kinds)} kinds of findings"]
        lines += [f"  {count} x {kind}" for kind, count in sorted(self.kinds.items())]
        if self.torch_failed:
            lines.append(f"  (PyTorch failed itself {self.torch_failed} times)")
        return "\n".join(lines)


def fuzz(settings: Settings) -> int:
    """Run programs until the time is over; 1 if anything was found."""
    session = Fuzzer(settings)
    try:
        session.run()
    except KeyboardInterrupt:
        print()
    print(session.summary())
    return 1 if session.kinds else 0


# ---- programs that were found before ------------------------------------------------------------------------------------------------


def statements_of(path: Path) -> list[str]:
    """The statements of a written program, without its imports and the line that prints."""
    source = path.read_text(encoding="utf-8")
    nodes = [node for node in ast.parse(source).body if not isinstance(node, ast.Import)]
    texts = [ast.get_source_segment(source, node) or "" for node in nodes]
    return [text for text in texts if not text.startswith("print(")]


def replay(paths: Sequence[Path], show: Callable[[str], None] = print) -> int:
    """Run written programs with both libraries, in this process; 1 if they differ."""
    import torch

    import adjoint

    from .run import compared

    failed = 0
    for path in paths:
        found = compared(statements_of(path), torch, adjoint)
        if found is not None:
            show(f"{path}\n{found}")
            failed = 1
    return failed
