from __future__ import annotations

import numpy as np

from ..._site import Site
from ..events import ModuleCall, OpCall, Pass, array_of
from ..finding import NOTE
from ..rule import Rule

LARGEST, SPREAD, STEPS, FEW = 50.0, 10.0, 20, 5


class InputScale(Rule):
    """The model is given raw numbers, such as pixels from 0 to 255, and does not learn."""

    name = "input-scale"
    grade = NOTE

    def start(self) -> None:
        self.raw: tuple[Site, str] | None = None
        self.losses: dict[Site, list[float]] = {}
        self.classes = 0

    def op(self, call: OpCall) -> None:
        if call.name == "cross_entropy":
            self.classes = int(call.arguments["input"].shape[-1])

    def entered(self, call: ModuleCall) -> None:
        data = array_of(call.args[0]) if call.args and not call.modules and self.doctor.recording else None
        if data is None or data.dtype.kind != "f" or data.size < FEW:
            return
        low, high = float(np.min(data)), float(np.max(data))
        if low >= 0 and high > LARGEST and float(np.std(data)) > SPREAD:
            self.raw = call.site, f"{low:.3g} to {high:.3g}"

    def backward(self, event: Pass) -> None:
        losses = self.losses.setdefault(event.site, [])
        losses.append(event.loss)
        if self.raw is None or len(losses) != STEPS:
            return
        guessing = self.classes > 1 and np.mean(losses[-FEW:]) > 0.9 * np.log(self.classes)
        if guessing or not np.mean(losses[-FEW:]) < 0.9 * np.mean(losses[:FEW]):
            site, span = self.raw
            self.report(
                "the inputs are not normalised, and the loss " + ("stays at that of guessing" if guessing else "does not fall"),
                "x = (x - x.mean()) / x.std(), with numbers of the training set; pixels: x / 255",
                {"call": site},
                inputs=span,
                loss_at_first=float(np.mean(losses[:FEW])),
                loss_now=float(np.mean(losses[-FEW:])),
            )
