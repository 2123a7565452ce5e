from __future__ import annotations

import weakref
from typing import Any

from ..._site import Site
from ...autograd.causes import why_cut
from ...autograd.node import RECENT_CUTS, UNRECORDED, Cut
from ..events import ModuleCall, PerTensor
from ..rule import Rule

FEW = 3  # steps


class NoGradient(Rule):
    """A parameter of an optimizer never gets a gradient: the way from it to the loss is cut, or it is not used.

    It is said at the end, since a layer may be used in a later phase of the training.
    """

    name = "no-gradient"
    always = True

    def start(self) -> None:
        self.reached = PerTensor()
        self.waiting: dict[int, list[Any]] = {}  # the parameters of an optimizer that never had a gradient
        self.calls: dict[int, Site] = {}  # of modules, by their ids: the line that called them last
        self.cuts: dict[Site, Cut] = {}
        self.silent: dict[int, dict[str, Any]] = {}  # what there is to say of an optimizer, should the program end now
        self.unrecorded: dict[int, Site | None] = {}  # modules that were called under no_grad, and the line of the block

    def entered(self, call: ModuleCall) -> None:
        if self.doctor.looking:
            self.calls[id(call.module)] = call.site
            if not self.doctor.recording:
                self.unrecorded[id(call.module)] = UNRECORDED.cut.site

    def step(self, optimizer: Any, site: Site) -> None:
        waiting = self.waiting.get(id(optimizer))
        if waiting is not None and (
            not waiting or (not self.doctor.looking and all(known() is None or known()._grad is None for known in waiting))
        ):
            return  # all have had gradients; or nothing has changed since the last look
        for cut in RECENT_CUTS:
            if cut is not None and cut.site is not None:
                self.cuts.setdefault(cut.site, cut)
        parameters = [parameter for parameter in optimizer._all_params() if parameter.requires_grad]
        for parameter in parameters:
            if parameter._grad is not None:
                self.reached[parameter] = True
        steps = self.doctor.facts_of(optimizer).steps + 1
        missing = [parameter for parameter in parameters if parameter not in self.reached and not self.is_idle_bias(parameter)]
        self.waiting[id(optimizer)] = [weakref.ref(parameter) for parameter in missing]
        if not missing or len(missing) == len(parameters):  # none at all: zero-before-step, or somebody else's gradients
            self.silent.pop(id(optimizer), None)
        elif steps >= FEW:
            self.silent[id(optimizer)] = self.found(optimizer, missing, len(parameters), steps)

    def is_idle_bias(self, parameter: Any) -> bool:
        """Whether it is a bias of a layer that learns: one that cancels out (of an energy whose slope is the model) has no part in it."""
        if parameter.ndim != 1:
            return False
        owner = self.doctor.owner_of(parameter)[0]
        weight: Any = getattr(owner, "weight", None)
        return hasattr(weight, "_data") and weight in self.reached

    def found(self, optimizer: Any, missing: list[Any], count: int, steps: int) -> dict[str, Any]:
        known = self.silent.get(id(optimizer))
        if known is not None and known["missing"] == len(missing):
            return known | {"steps": steps}
        owner = self.doctor.owner_of(missing[0])[0]
        used = self.calls.get(id(owner))
        sites: dict[str, Site | None] = {}
        fix = "use it in the computation of the loss, or do not give it to the optimizer"
        if used is not None and id(owner) in self.unrecorded:
            sites = {"nothing is recorded": self.unrecorded[id(owner)], "used": used}
            fix = "call it outside of no_grad()"
        elif used is not None:
            for place, (site, cut) in enumerate(self.cuts.items()):
                sites[f"cut by {cut.how}" + (f" ({place + 1})" if place else "")] = site
                fix = why_cut(cut).advice if not place else fix
            sites["used"] = used
        else:
            sites = {"made": self.doctor.made(owner), "optimizer": self.doctor.facts_of(optimizer).made}
        names = self.doctor.names_of(missing)
        return {"names": names, "missing": len(missing), "count": count, "steps": steps, "sites": sites, "fix": fix, "used": used}

    def say(self, key: int) -> None:
        facts = self.silent.pop(key)
        why = (
            f"the loss does not depend on {'it' if facts['missing'] == 1 else 'them'}"
            if facts["used"] is not None
            else "the layer is never called"
        )
        self.report(
            f"{facts['names']} never got a gradient: {why}",
            facts["fix"],
            facts["sites"],
            key,
            parameters_without_gradient=f"{facts['missing']} of {facts['count']}",
            steps=facts["steps"],
        )

    def finish(self) -> None:
        for key in [*self.silent]:
            self.say(key)
