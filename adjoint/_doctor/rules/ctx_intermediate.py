from __future__ import annotations

from typing import Any

from ..._site import Site
from ..._tensor import Tensor, wrap
from ...autograd.function import BackwardCFunction
from ...autograd.node import Cut, Node
from ..events import Pass
from ..reading import graph_of, line_with
from ..rule import Rule
from ..slopes import differs, slopes_of_gradient
from .function_gradient import MOST


class CtxIntermediate(Rule):
    """A custom function keeps on `ctx` what it has computed in `forward`, and is differentiated twice: second derivatives are wrong.

    In `forward` nothing is recorded, so for the second derivative such a tensor is a constant. Masks are constant indeed: it is compared
    with finite differences of the first derivative.
    """

    name = "ctx-intermediate"

    def start(self) -> None:
        self.args: dict[Any, tuple[Any, ...]] = {}  # of the last call of each function, until it was looked at
        self.looked: set[Any] = set()

    def function(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], outputs: tuple[Any, ...], site: Site) -> None:
        tensors = [x for x in args if isinstance(x, Tensor)]
        if cls not in self.looked and not kwargs and any(x.requires_grad for x in tensors) and sum(x.numel() for x in tensors) <= MOST:
            self.args[cls] = tuple(wrap(x._data).requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in args)

    def backward(self, event: Pass) -> None:
        if event.create_graph:
            self.look(event.nodes)

    def grad_done(
        self, outputs: tuple[Any, ...], inputs: tuple[Any, ...], results: tuple[Any, ...], create_graph: bool, site: Site
    ) -> None:
        if create_graph:
            self.look(graph_of(outputs))

    def look(self, nodes: list[Node]) -> None:
        for node in nodes:
            cls: Any = node._forward_cls if isinstance(node, BackwardCFunction) else None
            kept = [] if cls is None or cls in self.looked else [name for name, value in vars(node).items() if is_intermediate(value)]
            if not kept or cls not in self.args:
                continue
            self.looked.add(cls)
            pair = differs(slopes_of_gradient(cls, self.args.pop(cls)))
            if pair is None:
                continue
            name = kept[0]
            self.report(
                f"{cls.__name__} keeps ctx.{name}, which forward has computed, and is differentiated twice: there it counts as a constant",
                "compute it in backward from saved inputs (ctx.save_for_backward), or return it as an output; mark backward with "
                "@once_differentiable if it shall not be differentiated",
                {"kept": line_with(cls.forward, f"ctx.{name}") or line_with(cls.setup_context, f"ctx.{name}"), "applied": node.site},
                cls,
                second_derivative_by_finite_differences=pair[0],
                by_backward=pair[1],
            )


def is_intermediate(value: Any) -> bool:
    return isinstance(value, Tensor) and isinstance(value._fn, Cut) and value._fn.kind in ("no_grad", "kept on ctx")
