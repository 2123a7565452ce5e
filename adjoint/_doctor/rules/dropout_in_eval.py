from __future__ import annotations

from ..events import OpCall
from ..rule import Rule

WANTED = ("mc", "montecarlo", "monte_carlo", "bayes", "uncertain", "ensemble")


class DropoutInEval(Rule):
    """`F.dropout` drops in evaluation too: its `training` is True unless it is said.

    A class or function that is named after Monte Carlo dropout wants that.
    """

    name = "dropout-in-eval"

    def op(self, call: OpCall) -> None:
        if "dropout" not in call.name or not call.modules or not call.arguments.get("p", 1):
            return
        inner = call.modules[-1]
        if inner.training and (len(call.modules) < 2 or call.modules[-2].training or inner in call.modules[-2].modules()):
            return  # in training; or a layer of its own, which somebody has set to training
        names = [call.site.code.co_name, *(type(module).__name__ for module in call.modules)]
        if any(word in name.lower() for name in names for word in WANTED):
            return
        self.report(
            f"dropout drops although {type(next(m for m in reversed(call.modules) if not m.training)).__name__} is in evaluation mode",
            "write F.dropout(x, p, training=self.training), or use an nn.Dropout module",
            {"dropout": call.site},
            p=call.arguments.get("p"),
        )
