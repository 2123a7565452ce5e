from __future__ import annotations

from typing import Any

from ..._site import Site
from ..finding import NOTE
from ..rule import Rule

STEPS, SHARE, COLLAPSE = 20, 0.5, 1e-3


class StepOrder(Rule):
    """The scheduler steps before the optimizer, or for each batch with numbers that are meant for epochs: the learning rate collapses."""

    name = "step-order"
    grade = NOTE
    always = True

    def start(self) -> None:
        self.first: dict[int, float] = {}  # the largest learning rate of an optimizer
        self.collapsed: dict[int, int] = {}  # steps with next to nothing of it
        self.steps: dict[int, int] = {}
        self.lines: dict[int, Site] = {}
        self.early: dict[int, list[Site]] = {}  # steps of the scheduler before the first of the optimizer

    def scheduler_step(self, scheduler: Any, site: Site) -> None:
        key = id(scheduler.optimizer)
        if scheduler._is_initial:
            return
        self.lines[key] = site
        if not self.steps.get(key):
            self.early.setdefault(key, []).append(site)
        period = getattr(scheduler, "T_max", 0)
        if type(scheduler).__name__ == "CosineAnnealingLR" and scheduler.last_epoch > 2 * period > 0 and scheduler.last_epoch >= STEPS:
            self.report(
                f"the learning rate swings up and down: CosineAnnealingLR ends after {period} steps, and gets more than twice as many",
                "call scheduler.step() once per epoch, or let T_max count batches",
                {"scheduler": site},
                T_max=period,
            )

    def step(self, optimizer: Any, site: Site) -> None:
        key = id(optimizer)
        rate = max((float(group.get("lr", 0)) for group in optimizer.param_groups), default=0.0)
        self.first[key] = max(rate, self.first.get(key, 0.0))
        self.steps[key] = self.steps.get(key, 0) + 1
        self.collapsed[key] = self.collapsed.get(key, 0) + (rate < COLLAPSE * self.first[key])

    def finish(self) -> None:
        for key, sites in self.early.items():
            if len(sites) == 1 and self.steps.get(key):  # several bring a schedule to where it was
                self.report(
                    "scheduler.step() comes before optimizer.step(): the first learning rate is skipped",
                    "call optimizer.step() first, then scheduler.step()",
                    {"scheduler": sites[0]},
                )
        for key, count in self.collapsed.items():
            if key in self.lines and self.steps[key] >= STEPS and count > SHARE * self.steps[key]:
                self.report(
                    f"the learning rate is next to nothing in {count} of {self.steps[key]} steps: the scheduler steps too often",
                    "call scheduler.step() once per epoch, or give it numbers that count batches",
                    {"scheduler": self.lines[key]},
                    key,
                    largest_rate=self.first[key],
                    steps_below_a_thousandth_of_it=count,
                )
