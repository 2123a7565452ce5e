from __future__ import annotations

import weakref
from typing import Any

from ..._site import Site
from ..events import Pass, PerTensor
from ..rule import Rule

IN_A_ROW = 3


class MissingZeroGrad(Rule):
    """A step uses gradients to which backward has added what an earlier step had used already.

    Gradients that are dropped before they are used again (those of a discriminator after the generator's pass) are no mistake, and who
    changes them by hand in between knows what they are. `create_graph` is for those who differentiate through steps.
    """

    name = "missing-zero-grad"

    def start(self) -> None:
        self.added = PerTensor()  # the gradients that hold an old part: the tensor, its version, the line of backward
        self.times = 0

    def backward(self, event: Pass) -> None:
        self.again = [] if event.create_graph else [leaf for leaf in event.leaves if self.doctor.was_used(leaf) or self.is_mixed(leaf)]

    def backward_done(self, event: Pass) -> None:
        for leaf in self.again:
            self.mark(leaf, event.site)

    def mark(self, leaf: Any, site: Site) -> None:
        if (gradient := leaf._grad) is not None:
            self.added[leaf] = weakref.ref(gradient), gradient._version, site

    def is_mixed(self, leaf: Any) -> bool:
        known = self.added.get(leaf)
        return known is not None and known[0]() is leaf._grad is not None and known[1] in (None, leaf._grad._version)

    def clip(self, parameters: list[Any], max_norm: float, total_norm: Any, site: Site) -> None:
        for parameter in parameters:
            if self.is_mixed(parameter):  # and will be so, though its version changes
                gradient, _, backward = self.added.get(parameter)
                self.added[parameter] = gradient, None, backward

    def zero_grad(self, owner: Any, parameters: list[Any], site: Site) -> None:
        for parameter in parameters:
            self.added[parameter] = lambda: None, 0, site

    def step(self, optimizer: Any, site: Site) -> None:
        parameters = [parameter for parameter in optimizer._all_params() if parameter._grad is not None]
        mixed = [parameter for parameter in parameters if self.is_mixed(parameter)]
        if not mixed:
            self.times = 0 if parameters and self.doctor.facts_of(optimizer).steps > IN_A_ROW else self.times
            return
        self.times += 1
        if self.times >= IN_A_ROW:
            self.report(
                "gradients are never dropped: backward() adds to those that the last step has used already",
                "call optimizer.zero_grad() before backward(), once for each step",
                {"backward": self.added.get(mixed[0])[2], "step": site},
                steps_with_old_gradients=self.times,
                parameters=len(mixed),
            )
