"""How much of a gradient comes from which term of a loss: one backward pass for each term of the sum at its end."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._site import Site, here
from .._tensor import Tensor
from ..autograd import engine
from ..autograd.node import Edge, Freed, Node
from ..autograd.views import edge_of
from .finding import Cause, Finding, Term

ADDING = ("add", "sub", "add_scaled", "sub_scaled", "rsub", "stack", "cat")
# What stands between a loss and the sum of its terms without mixing them: derivatives that do not depend on values.
PASSING = (*ADDING, "neg", "mul", "div", "sum_all", "sum_dim", "mean_all", "mean_dim", "view", "squeeze", "squeeze_dim", "unsqueeze",
           "clone", "_to_copy", "reshape", "select_part")  # fmt: skip


def terms_of(root: Edge, seed: Any) -> list[tuple[Edge, Any]]:
    """The terms of the sum at a root, each with the gradient that arrives there."""
    done: list[tuple[Edge, Any]] = []
    waiting = [(root, seed)]
    while waiting:
        edge, g = waiting.pop()
        node = edge if isinstance(edge, Node) else None
        if node is None or node.op is None or node.op.name not in PASSING or not splits(node):
            done.append((edge, g))
            continue
        gradients = node.apply(g)
        parts = [(to, gradient) for to, gradient in zip(node.next, gradients, strict=True) if to is not None and gradient is not None]
        waiting += parts[::-1]
    return done


def splits(node: Node) -> bool:
    """Whether a sum comes at this node or after it, with nothing in between but what a sum passes through."""
    waiting: list[Any] = [node]
    while waiting:
        found = waiting.pop()
        if not isinstance(found, Node) or found.op is None or found.op.name not in PASSING or isinstance(found.saved, Freed):
            continue
        edges = [edge for edge in found.next if edge is not None]
        if len(edges) > 1:
            if found.op.name in ADDING:
                return True
            continue  # a product of two results is a term
        waiting += edges
    return False


def line_of(edge: Edge, root: Site) -> Site:
    """Where a term was computed: the first line on its way that is not the one of the sum."""
    found = edge
    while isinstance(found, Node) and found.site.line == root.line and len(found.next) == 1:
        found = found.next[0]
    for end in (found, edge):
        node = engine.target_of(end)
        if isinstance(node, Node) and (node.site.line != root.line or end is edge):
            return node.site
    return root


def split(loss: Tensor, parameters: dict[str, Tensor]) -> Finding:
    """The gradient of each parameter, divided among the terms of a loss."""
    root = edge_of(loss)
    site = loss.grad_fn.site if loss.grad_fn is not None else here()
    if any(isinstance(node.saved, Freed) for node in engine.reachable([root])):
        return Finding(
            Cause.NOT_KEPT, "The gradient cannot be divided: backward() has freed the graph of this loss.", sites={"loss": site},
            advice="call ad.blame(loss, parameters) before backward(), or backward(retain_graph=True)",
        )  # fmt: skip
    with np.errstate(all="ignore"):
        terms = terms_of(root, np.ones(loss.shape, loss._data.dtype))
        gradients = [gradients_of(edge, g, list(parameters.values())) for edge, g in terms]
    lines = [line_of(edge, site) for edge, _ in terms]
    shares = {name: shared_out(lines, [found[place] for found in gradients]) for place, name in enumerate(parameters)}
    several = f"The loss is the sum of {len(terms)} terms, from {len({(line.filename, line.line) for line in lines})} lines."
    message = several if len(terms) > 1 else "The loss is no sum: it has one term."
    return Finding(Cause.TERMS, message, sites={"sum": site}, terms=shares)


def gradients_of(edge: Edge, g: Any, parameters: list[Tensor]) -> list[Any]:
    edges = [edge_of(parameter) for parameter in parameters]
    return engine.run([edge], [g], keep_graph=True, create_graph=False, site=here(), captured=edges)


def shared_out(lines: list[Site], gradients: list[Any]) -> list[Term]:
    """The terms of one parameter's gradient, those of one line together, the largest first."""
    first = {(line.filename, line.line): line for line in reversed(lines)}
    by_line: dict[Site, Any] = {}
    for line, gradient in zip([first[line.filename, line.line] for line in lines], gradients, strict=True):
        if gradient is not None:
            wide = np.asarray(gradient, np.complex128 if np.iscomplexobj(gradient) else np.float64)
            by_line[line] = by_line[line] + wide if line in by_line else wide
    with np.errstate(all="ignore"):
        norms = {line: float(np.linalg.norm(part.ravel())) for line, part in by_line.items()}
        total, whole = sum(norms.values()), sum(by_line.values())
        found = [
            Term(line, norm, norm / total if total else 0.0, bool(np.vdot(by_line[line], whole).real < 0)) for line, norm in norms.items()
        ]
    return sorted(found, key=lambda term: -term.norm if np.isfinite(term.norm) else -np.inf)
