from __future__ import annotations

from ..events import Pass, PerTensor
from ..reading import is_parameter, uses_of
from ..rule import Rule

TIMES = 3


class NotInOptimizer(Rule):
    """A parameter gets gradients beside others that an optimizer moves, and no optimizer has it."""

    name = "not-in-optimizer"

    def start(self) -> None:
        self.seen = PerTensor()  # how often, and the version that it had at first
        self.new = 0  # passes in a row with parameters that were never there before

    def backward(self, event: Pass) -> None:
        leaves = [leaf for leaf in event.leaves if is_parameter(leaf)]
        orphans = [leaf for leaf in leaves if next(self.doctor.serving(leaf), None) is None]
        alone = {id(leaf) for leaf in orphans}
        trained = [facts for leaf in leaves if id(leaf) not in alone for facts in self.doctor.serving(leaf) if facts.steps >= TIMES]
        fresh = [leaf for leaf in orphans if leaf not in self.seen]
        self.new = self.new + 1 if fresh and event.number > 1 else 0
        for leaf in orphans:
            times, version = self.seen.get(leaf, (0, leaf._version))
            self.seen[leaf] = times + 1, version
        if not trained:
            return
        use = {"used": next(node.site for leaf in orphans for node in uses_of(leaf, event.nodes))} if orphans else {}
        if self.new > TIMES:
            self.report(
                "layers are made anew in every forward: what they learn is thrown away",
                "make them once, in __init__, as attributes of the module",
                use,
                "fresh",
                parameters=self.doctor.names_of(fresh),
            )
            return
        known = [leaf for leaf in orphans if (facts := self.seen.get(leaf))[0] > TIMES and facts[1] == leaf._version]
        if known:
            self.report(
                f"no optimizer has {self.doctor.names_of(known)}: gradients arrive, and nothing changes",
                "give them to the optimizer (layers in a plain list are not found by parameters(): use nn.ModuleList), or freeze them with "
                "requires_grad_(False)",
                {"optimizer": trained[0].made, **use, "made": self.doctor.made(self.doctor.owner_of(known[0])[0])},
                "orphans",
                parameters=len(known),
                steps_of_the_optimizer=trained[0].steps,
            )
