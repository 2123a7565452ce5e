from __future__ import annotations

from ..events import ModuleCall, OpCall
from ..finding import NOTE
from ..rule import Rule


class SoftmaxOverBatch(Rule):
    """A softmax along the batch: the probabilities of one sample depend on the others, and do not add up to one.

    Where the first dimension is no batch (weights of tokens, of nodes), that is how it should be.
    """

    name = "softmax-over-batch"
    grade = NOTE

    def start(self) -> None:
        self.samples = 0  # the first size of what the outermost module was given

    def entered(self, call: ModuleCall) -> None:
        if not call.modules:
            first = next((x for x in call.args if hasattr(x, "_data") and x.ndim > 1), None)
            self.samples = 0 if first is None else int(first.shape[0])

    def op(self, call: OpCall) -> None:
        if call.name not in ("softmax", "log_softmax") or not call.result.requires_grad:
            return
        x, dim = call.arguments["input"], call.arguments["dim"]
        if x.ndim == 2 and dim in (0, -2) and x.shape[0] == self.samples > 2 and x.shape[1] > 1:
            self.report(
                f"{call.name} runs along dimension 0, which is the batch: samples compete with each other",
                "write dim=1 (or dim=-1), along the classes",
                {"softmax": call.site},
                shape=list(map(int, x.shape)),
                dim=dim,
            )
