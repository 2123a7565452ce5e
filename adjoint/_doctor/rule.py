"""The base class of rules. A rule is a class in a file of its own in `rules/`; to add one is to add the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from .finding import FINDING, Finding

if TYPE_CHECKING:
    from .._site import Site
    from .doctor import Doctor
    from .events import ModuleCall, OpCall, Pass


class Rule:
    """What can go wrong, in one way. A rule overrides the methods for what it watches, and calls `report`.

    It may look at everything and change nothing: arrays are read by NumPy, and no random number is drawn.
    """

    name: ClassVar[str]  # as in `ignore=["missing-zero-grad"]`
    grade: ClassVar[str] = FINDING
    always: ClassVar[bool] = False  # also told of passes and steps between the windows in which the doctor looks closely

    def __init__(self, doctor: Doctor) -> None:
        self.doctor = doctor
        self.reports: dict[Any, Finding] = {}
        self.start()

    def start(self) -> None:
        """Set up what the rule keeps."""

    def op(self, call: OpCall) -> None:
        """An op has run."""

    def entered(self, call: ModuleCall) -> None:
        """A module was called."""

    def left(self, call: ModuleCall) -> None:
        """It has returned."""

    def backward(self, event: Pass) -> None:
        """A backward pass begins."""

    def backward_done(self, event: Pass) -> None:
        """It has ended: gradients are there, and what the graph has kept is freed."""

    def grad_done(
        self, outputs: tuple[Any, ...], inputs: tuple[Any, ...], results: tuple[Any, ...], create_graph: bool, site: Site
    ) -> None:
        """`autograd.grad` was called."""

    def optimizer_made(self, optimizer: Any, site: Site) -> None:
        """A new optimizer."""

    def step(self, optimizer: Any, site: Site) -> None:
        """An optimizer is about to change parameters."""

    def step_done(self, optimizer: Any, site: Site) -> None:
        """It has changed them."""

    def zero_grad(self, owner: Any, parameters: list[Any], site: Site) -> None:
        """Gradients are about to be dropped, by an optimizer or a module."""

    def clip(self, parameters: list[Any], max_norm: float, total_norm: Any, site: Site) -> None:
        """Gradients are about to be clipped."""

    def train_mode(self, module: Any, mode: bool, site: Site) -> None:
        """`train()` or `eval()` was called."""

    def scheduler_step(self, scheduler: Any, site: Site) -> None:
        """A scheduler has set learning rates."""

    def function(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], outputs: tuple[Any, ...], site: Site) -> None:
        """A custom function was applied."""

    def loader_made(self, loader: Any, site: Site) -> None:
        """A new DataLoader."""

    def batch(self, loader: Any, batch: Any, site: Site) -> None:
        """A DataLoader gives a batch."""

    def finish(self) -> None:
        """The program has ended, or the block of the doctor."""

    def report(
        self, message: str, fix: str, sites: Mapping[str, Site | None] | None = None, key: Any = None, grade: str = "", **evidence: Any
    ) -> None:
        """Say it, once for each `key` (the line, if none is given), and count how often it happens. Unknown lines are left out."""
        lines: dict[str, Site] = {}
        for role, site in (sites or {}).items():
            if site is not None and not (role.startswith("perhaps") and site.where in [known.where for known in lines.values()]):
                lines[role] = site
        key = next(iter(lines.values()), None) if key is None else key
        known = self.reports.get(key)
        if known is not None:
            known.count += 1
            return
        evidence = {name.replace("_", " "): value for name, value in evidence.items()}
        self.reports[key] = found = Finding(self.name, grade or self.grade, message, fix, lines, evidence)
        self.doctor.found(found)
