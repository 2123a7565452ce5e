from __future__ import annotations

from typing import Any

import numpy as np

from ..._site import Site
from ..events import ModuleCall, OpCall, PerTensor, array_of
from ..rule import Rule

FEW, MANY = 3, 8  # steps after which it is said at the end, and in any case


class Dead(Rule):
    """The gradient of a weight is exactly zero from the beginning on: its units never switch on, or its result is never used.

    Residual branches that begin with zeros come to life within a few steps.
    """

    name = "dead"

    def start(self) -> None:
        self.zeros = PerTensor()  # steps in which a gradient was zero
        self.alive = PerTensor()
        self.silent: dict[Site, int] = {}  # lines with a relu whose results were all zero, and how often
        self.calls: dict[int, Site] = {}
        self.last: list[tuple[Any, int]] = []

    def entered(self, call: ModuleCall) -> None:
        self.calls[id(call.module)] = call.site

    def op(self, call: OpCall) -> None:
        if call.name in ("relu", "relu6", "clamp", "clamp_min", "threshold") and call.result.requires_grad:
            data = array_of(call.result)
            if data is not None and data.size > 1:
                self.silent[call.site] = 0 if np.any(data) else self.silent.get(call.site, 0) + 1

    def step(self, optimizer: Any, site: Site) -> None:
        steps = self.doctor.facts_of(optimizer).steps + 1
        for parameter in optimizer._all_params():
            data = array_of(parameter._grad)
            if data is None or data.ndim < 2 or parameter in self.alive:
                continue
            if np.any(data):
                self.alive[parameter] = True
            else:
                self.zeros[parameter] = self.zeros.get(parameter, 0) + 1
        if steps == MANY:
            self.say(MANY)

    def say(self, least: int) -> None:
        dead = [parameter for parameter, times in self.zeros.items() if times >= least and parameter not in self.alive]
        if not dead:
            return
        relus = [site for site, times in self.silent.items() if times >= least]
        used = self.calls.get(id(self.doctor.owner_of(dead[0])[0]))
        sites = {"relu that gives only zeros": relus[0]} if relus else {} if used is None else {"layer": used}
        why = "a relu after it gives zeros for every input" if relus else "its result has no influence on the loss"
        self.report(
            f"the gradient of {self.doctor.names_of(dead)} is exactly zero in every step: {why}",
            "start it with smaller or other weights and biases, use a smaller learning rate, or leaky_relu"
            if relus
            else "look at what becomes of its result: an argmax, a comparison, a slice or a zero cuts it off",
            sites,
            "dead",
            steps=min(times for parameter, times in self.zeros.items() if parameter not in self.alive),
            weights=len(dead),
        )

    def finish(self) -> None:
        self.say(FEW)
