from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..._site import Site
from ..events import Pass, array_of
from ..rule import Rule

PASSES = 5


class NeverStepped(Rule):
    """Gradients arrive, and the optimizer that has the parameters never makes a step; nor does anybody else change them."""

    name = "never-stepped"

    def start(self) -> None:
        self.waiting: dict[int, Waiting] = {}

    def backward_done(self, event: Pass) -> None:
        for key, facts in [*self.doctor.optimizers.items()]:
            served = {id(parameter) for parameter in facts.parameters()}
            reached = [leaf for leaf in event.leaves if id(leaf) in served and leaf._grad is not None]
            if not reached:
                continue
            if key not in self.waiting:
                self.waiting[key] = Waiting(reached[0], facts.made or event.site, self.doctor.names_of(reached))
            waiting = self.waiting[key]
            waiting.passes += 1
            waiting.backward = event.site
            stepped = any(other.steps for other in self.doctor.serving(reached[0]))
            waiting.moved = waiting.moved or stepped or not np.array_equal(waiting.before, sample(waiting.parameter()), equal_nan=True)

    def step(self, optimizer: Any, site: Site) -> None:
        if (waiting := self.waiting.get(id(optimizer))) is not None:
            waiting.moved = True

    def finish(self) -> None:
        for key, waiting in self.waiting.items():
            if not waiting.moved and waiting.passes >= PASSES:
                self.report(
                    "the optimizer never makes a step: its parameters get gradients and stay as they are",
                    "call optimizer.step() after backward()",
                    {"optimizer": waiting.made, "backward": waiting.backward},
                    key,
                    backward_passes=waiting.passes,
                    steps=0,
                    parameters=waiting.names,
                )


class Waiting:
    """An optimizer that has gradients to go by."""

    def __init__(self, parameter: Any, made: Site, names: str) -> None:
        self.parameter = weakref.ref(parameter)
        self.before = sample(parameter)
        self.made = self.backward = made
        self.names = names
        self.passes = 0
        self.moved = False


def sample(parameter: Any) -> Any:
    data = array_of(parameter)
    return None if data is None else data.reshape(-1)[:16].copy()
