from __future__ import annotations

from typing import Any

from ..._site import Site
from ..._tensor import Tensor
from ...autograd.function import BackwardCFunction
from ...autograd.node import Cut, Node
from ..events import Pass
from ..reading import graph_of, line_with
from ..rule import Rule


class CtxIntermediate(Rule):
    """A custom function keeps on `ctx` what it has computed in `forward`, and is differentiated twice: second derivatives are wrong.

    In `forward` nothing is recorded, so for the second derivative such a tensor is a constant.
    """

    name = "ctx-intermediate"

    def backward(self, event: Pass) -> None:
        if event.create_graph:
            self.look(event.nodes)

    def grad_done(self, outputs: tuple[Any, ...], inputs: tuple[Any, ...], results: tuple[Any, ...], create_graph: bool, site: Site) -> None:
        if create_graph:
            self.look(graph_of(outputs))

    def look(self, nodes: list[Node]) -> None:
        for node in nodes:
            if not isinstance(node, BackwardCFunction) or getattr(node._forward_cls.backward, "__wrapped__", None) is not None:
                continue
            for name, value in [*vars(node).items()]:
                if isinstance(value, Tensor) and isinstance(value._fn, Cut) and value._fn.kind == "no_grad":
                    cls = node._forward_cls
                    written = line_with(cls.forward, f"ctx.{name}") or line_with(cls.setup_context, f"ctx.{name}")
                    self.report(
                        f"{cls.__name__} keeps ctx.{name}, which forward has computed, and is differentiated twice: it counts as a constant there",
                        "compute it in backward from saved inputs (ctx.save_for_backward), or return it as an output; "
                        "mark backward with @once_differentiable if it shall not be differentiated",
                        {"kept": written, "applied": node.site},
                        (cls, name),
                    )
