from __future__ import annotations

from typing import Any

from ..._site import Site
from ..events import OpCall, Pass, PerTensor, array_of
from ..rule import Rule

OPS = {"add", "sub", "mul", "div", "rsub", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"}
TIMES = 2


class Broadcast(Rule):
    """`[n, 1]` against `[n]` gives `[n, n]`: each prediction is compared with the targets of all samples.

    Who inserts the dimension on purpose (`x[:, None]`, `unsqueeze`), or compares a tensor with itself, wants just that.
    """

    name = "broadcast"

    def start(self) -> None:
        self.suspects: dict[Site, tuple[Any, Any]] = {}
        self.times: dict[Site, int] = {}
        self.on_purpose = PerTensor()  # tensors that got a dimension of size one by hand

    def op(self, call: OpCall) -> None:
        if adds_dimension(call):
            self.on_purpose[call.result] = True
            return
        if call.name not in OPS:
            return
        operands = [x for x in call.arguments.values() if hasattr(x, "_data")][:2]
        if len(operands) < 2 or not any(x.requires_grad for x in operands):
            return
        column, row = sorted(operands, key=lambda x: -x.ndim)
        shapes = tuple(column.shape), tuple(row.shape)
        if not (column.ndim == row.ndim + 1 and column.shape[-1] == 1 and shapes[0][:-1] == shapes[1] and row.ndim and row.shape[-1] > 2):
            return
        if column in self.on_purpose or shares_memory(column, row):
            return
        self.suspects[call.site] = shapes

    def backward(self, event: Pass) -> None:
        for site in {node.site for node in event.nodes} & self.suspects.keys():
            self.times[site] = self.times.get(site, 0) + 1
            if self.times[site] >= TIMES:
                column, row = self.suspects[site]
                self.report(
                    f"shapes {list(column)} and {list(row)} are broadcast to {[*row, row[-1]]} in the loss: each sample meets the targets "
                    "of all others",
                    "give both the same shape: output.squeeze(-1), or target.unsqueeze(-1)",
                    {"here": site},
                    shapes=f"{list(column)} and {list(row)}",
                )


def adds_dimension(call: OpCall) -> bool:
    """Whether a dimension of size one was put in, by `unsqueeze` or `x[:, None]`."""
    index = call.arguments.get("index")
    written = call.name in ("unsqueeze", "expand") or (isinstance(index, tuple) and any(one is None for one in index))
    return written and hasattr(call.result, "_data")


def shares_memory(a: Any, b: Any) -> bool:
    x, y = array_of(a), array_of(b)
    return x is not None and y is not None and (x is y or (x.base is not None and x.base is y.base) or x.base is y or y.base is x)
