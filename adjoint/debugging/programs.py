"""`python -m adjoint debug`: a program whose backward passes run in the debugger, each that a breakpoint stops, or the first one."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any

from .._layer import levels
from .._site import user_frame
from ..autograd import engine
from ..autograd.stepping import every_pass, run_stepwise
from .breakpoints import Breakpoint, parse
from .plan import Plan
from .session import Session
from .terminal import Terminal, bytes_text

MOST_KEPT = 1 << 30  # bytes of gradients, above which a pass is not kept for going back


class Passes:
    """The backward passes of a program, one after the other. Breakpoints and commands that are left serve those that follow."""

    def __init__(self, breakpoints: Sequence[str], commands: Sequence[str], script: str = "") -> None:
        self.breakpoints: list[Breakpoint] = [parse(text) for text in breakpoints]
        self.commands = list(commands)
        self.script = script  # the file whose lines breakpoints count where they name none
        self.first = not breakpoints  # whether the next pass is stepped through from its beginning
        self.count = 0
        self.plain = engine.run
        self.page: Any = None  # the lab's page, once it was opened
        self.reached: set[Breakpoint] = set()
        self.sizes: dict[Any, tuple[int, int]] = {}  # what to keep a pass takes, by its line and its number of places

    def run(self, roots: Sequence[Any], gradients: Sequence[Any], **options: Any) -> list[Any]:
        """Stands for `engine.run`. Passes inside others or inside transforms, and those of other threads, run as ever."""
        elsewhere = engine.task_now() is not None or bool(levels()) or threading.current_thread() is not threading.main_thread()
        if elsewhere or not (self.first or self.breakpoints):
            return self.plain(roots, gradients, **options)
        self.count += 1
        steps = run_stepwise(roots, gradients, **options)
        session = Session(steps, user_frame(sys._getframe(1)), self.breakpoints)
        session.plan.filename = self.script or session.plan.filename
        size = self.estimate(session.plan, options["site"])
        steps.keep = size <= MOST_KEPT
        self.reached |= {one for one in self.breakpoints if one.reaches(session.plan)}
        terminal = Terminal(session, self.commands, self.page)
        try:
            if self.first:
                self.first = False
                terminal.run()
            elif (event := session.go_on()) is not None:
                terminal.begin(self.count)
                if not steps.keep:
                    print(f"there is no way back: to keep the gradients would take {bytes_text(size)}")
                terminal.stopped(event)
                terminal.loop()
            session.finish()
        finally:
            self.commands, self.page = terminal.commands, terminal.page
            self.breakpoints = list(session.breakpoints.values())
        return steps.results

    def estimate(self, plan: Plan, site: Any) -> int:
        """What it takes to keep a pass: looked up for the first of its kind, before it begins."""
        key = site, len(plan.places)
        if key not in self.sizes:
            self.sizes[key] = plan.bytes_kept
        plan.bytes_kept = self.sizes[key]
        return plan.bytes_kept[0]

    def report(self) -> None:
        """Say which breakpoints nothing came to."""
        for one in self.breakpoints:
            if one not in self.reached:
                print(f"nothing in {self.count} backward pass{'es' if self.count != 1 else ''} matched the breakpoint {one.text}")


def run_program(program: Sequence[str], breakpoints: Sequence[str], commands: Sequence[str]) -> None:
    """Run what `python *program` would run, as `python -m adjoint run` does."""
    from ..cli.run import run

    passes = Passes(breakpoints, commands, program[0] if program and not program[0].startswith("-") else "")
    with every_pass(passes.run):
        run(program)
    passes.report()
