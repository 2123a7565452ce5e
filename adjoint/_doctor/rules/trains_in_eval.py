from __future__ import annotations

import weakref
from typing import Any

from ..._site import Site
from ..events import ModuleCall, Pass
from ..reading import random_parts
from ..rule import Rule

TIMES = 3


class TrainsInEval(Rule):
    """A model with dropout or batch normalization is trained in evaluation mode, mostly since `train()` was forgotten after `eval()`.

    Who sets only some layers to evaluation (frozen batch normalization) leaves the model itself in training mode.
    """

    name = "trains-in-eval"
    always = True

    def start(self) -> None:
        self.evaluated: dict[int, Site] = {}  # modules on which `eval()` was called
        self.called: list[tuple[weakref.ref[Any], Site]] = []  # models in evaluation mode since the last backward pass
        self.passes: dict[int, tuple[Any, Site]] = {}
        self.times: dict[int, int] = {}

    def train_mode(self, module: Any, mode: bool, site: Site) -> None:
        if mode:
            self.evaluated.pop(id(module), None)
        else:
            self.evaluated[id(module)] = site

    def entered(self, call: ModuleCall) -> None:
        if not call.modules and not call.module.training and self.doctor.recording:
            self.called.append((weakref.ref(call.module), call.site))

    def backward(self, event: Pass) -> None:
        for known, _ in self.called:
            model = known()
            if model is not None and not model.training:
                self.passes[id(model)] = known, event.site
        self.called.clear()

    def step(self, optimizer: Any, site: Site) -> None:
        if not self.passes:
            return
        served = {id(parameter) for parameter in optimizer._all_params()}
        for key, (known, backward) in [*self.passes.items()]:
            model = known()
            del self.passes[key]
            if model is None or not any(id(parameter) in served for parameter in model.parameters()):
                continue
            parts = random_parts(model)
            if not parts or any(part.training for part in parts):
                continue
            self.times[key] = self.times.get(key, 0) + 1
            if self.times[key] >= TIMES:
                where = self.evaluated.get(key)
                kinds = ", ".join(sorted({type(part).__name__ for part in parts}))
                self.report(
                    f"the model is trained in evaluation mode, and so is what behaves otherwise there: {kinds}",
                    "call model.train() before the training loop, and again after each evaluation",
                    {"eval": where, "backward": backward},
                    key,
                    steps_in_evaluation_mode=self.times[key],
                )
