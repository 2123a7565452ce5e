from __future__ import annotations

from typing import Any

import numpy as np

from ..._site import Site
from ..events import ModuleCall, OpCall, PerTensor, array_of
from ..reading import last_write
from ..rule import Rule

FEW, MANY = 3, 8  # steps in a row: from the beginning on, and later
CUTTING = ("relu", "relu6", "clamp", "clamp_min", "threshold")


class Dead(Rule):
    """The gradient of a weight is exactly zero step after step: its units never switch on, or its result is never used.

    From the beginning on that needs no other evidence (residual branches that begin with zeros come to life within a few steps); later it
    needs a relu that gives nothing but zeros, since a loss may have become zero.
    """

    name = "dead"

    def start(self) -> None:
        self.zeros = PerTensor()  # steps in a row in which a gradient was zero
        self.alive = PerTensor()
        self.silent: dict[tuple[Site, int], int] = {}  # relus, by line and module, and how often in a row their results were all zero
        self.layers: dict[tuple[Site, int], Site | None] = {}  # the lines that made them
        self.calls: dict[int, Site] = {}
        self.results = PerTensor()  # of modules: their ids
        self.readers: dict[int, Site] = {}  # the line that reads the result of a module
        self.found: dict[str, Any] | None = None

    def entered(self, call: ModuleCall) -> None:
        self.calls[id(call.module)] = call.site

    def left(self, call: ModuleCall) -> None:
        first = call.result[0] if isinstance(call.result, tuple) and call.result else call.result
        if hasattr(first, "_data"):
            self.results[first] = id(call.module)

    def op(self, call: OpCall) -> None:
        for x in call.arguments.values():
            if hasattr(x, "_data") and (module := self.results.get(x)) is not None:
                self.readers.setdefault(module, call.site)
        if call.name in CUTTING and call.result.requires_grad:
            data = array_of(call.result)
            if data is not None and data.size > 1:
                key = call.site, id(call.modules[-1]) if call.modules else 0
                self.silent[key] = 0 if np.any(data) else self.silent.get(key, 0) + 1
                self.layers[key] = self.doctor.made(call.modules[-1]) if call.modules else None

    def step(self, optimizer: Any, site: Site) -> None:
        for parameter in optimizer._all_params():
            data = array_of(parameter._grad)
            if data is None or data.ndim < 2:
                continue
            if np.any(data):
                self.alive[parameter] = True
                self.zeros[parameter] = 0
            else:
                self.zeros[parameter] = self.zeros.get(parameter, 0) + 1
        self.look()

    def look(self) -> None:
        """What there is to say if the program ends now."""
        relus = [key for key, times in self.silent.items() if times >= FEW]
        dead = [p for p, times in self.zeros.items() if times >= (FEW if p not in self.alive else MANY) and (p not in self.alive or relus)]
        if not dead:
            self.found = None
            return
        if self.found is not None and self.found["weights"] == len(dead):
            self.found["steps"] = max(self.zeros.get(parameter) for parameter in dead)
            return
        last = self.doctor.owner_of(dead[-1])[0]
        bias: Any = getattr(last, "bias", None)
        written = last_write(bias) if relus and hasattr(bias, "_data") else None
        if relus:
            sites = {"relu that gives only zeros": relus[0][0], "made": self.layers.get(relus[0]), "bias written": written}
        else:
            sites = {"result is used": self.readers.get(id(last)), "layer": self.calls.get(id(last))}
        self.found = {"names": self.doctor.names_of(dead), "sites": sites, "relu": bool(relus), "weights": len(dead), "steps": FEW}

    def finish(self) -> None:
        if self.found is None:
            return
        relu = self.found["relu"]
        why = "a relu after it gives zeros for every input" if relu else "its result has no influence on the loss"
        switch = "start it with other weights and biases, use a smaller learning rate, or leaky_relu"
        look = "look at what becomes of its result: an argmax, a comparison, a slice or a constant cuts it off"
        self.report(
            f"the gradient of {self.found['names']} is exactly zero in every step: {why}",
            switch if relu else look,
            self.found["sites"],
            "dead",
            steps=self.found["steps"],
            weights=self.found["weights"],
        )
