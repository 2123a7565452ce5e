from __future__ import annotations

from typing import Any

from ..._site import Site
from ..events import ModuleCall, OpCall, PerTensor
from ..finding import NOTE
from ..reading import random_parts
from ..rule import Rule


class EvaluatesInTrain(Rule):
    """A model is evaluated, under no_grad and after it was trained, in training mode: dropout drops, batch statistics are of this batch.

    What is computed so and then used in training (samples of a generator, targets, rollouts) is no evaluation.
    """

    name = "evaluates-in-train"
    grade = NOTE
    always = True

    def start(self) -> None:
        self.results = PerTensor()
        self.pending: dict[Site, tuple[int, str]] = {}
        self.fed: set[Site] = set()  # lines whose results are used in training

    def left(self, call: ModuleCall) -> None:
        if call.modules or self.doctor.recording or not call.module.training or not hasattr(call.result, "_data"):
            return
        if not any(facts.steps for parameter in call.module.parameters() for facts in self.doctor.serving(parameter)):
            return
        if parts := [part for part in random_parts(call.module) if part.training]:
            times = self.pending.get(call.site, (0, ""))[0] + 1
            self.pending[call.site] = times, ", ".join(sorted({type(part).__name__ for part in parts}))
            self.results[call.result] = call.site

    def entered(self, call: ModuleCall) -> None:
        if self.doctor.recording:
            self.feeds(call.args)

    def op(self, call: OpCall) -> None:
        if hasattr(call.result, "_data"):
            if call.result.requires_grad:
                self.feeds(call.arguments.values())
            elif (known := next((x for x in call.arguments.values() if hasattr(x, "_data") and x in self.results), None)) is not None:
                self.results[call.result] = self.results.get(known)

    def feeds(self, values: Any) -> None:
        for value in values:
            if hasattr(value, "_data") and (site := self.results.get(value)) is not None:
                self.fed.add(site)

    def finish(self) -> None:
        for site, (times, kinds) in self.pending.items():
            if site not in self.fed:
                self.report(
                    f"the model is evaluated in training mode, and so is what behaves otherwise there: {kinds}",
                    "call model.eval() before the evaluation, and model.train() after it",
                    {"call": site},
                    calls_without_recording=times,
                )
