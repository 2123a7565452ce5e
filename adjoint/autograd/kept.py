"""What custom functions do that loses gradients: they return None, or keep an intermediate result on their `ctx`, neither an input nor an
output, through which derivatives of their backward do not pass.

Such a tensor is marked with a cut of its own, so that errors and `explain` name it, and a backward that is itself recorded warns of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from .._site import Site, is_user, warn
from .._tensor import Tensor
from .node import RETURNED_NONE, Cut, Edge, Node, Output

if TYPE_CHECKING:
    from .function import BackwardCFunction

KEPT = "kept on ctx"
_told: set[tuple[type, str]] = set()


def note_none(edge: Edge, function: str, site: Site) -> None:
    """A custom function returned None for an input that leads on to `edge`."""
    RETURNED_NONE.append((ref(edge.node if isinstance(edge, Output) else edge), function, site))


def line_that_kept(cut: Cut) -> Site:
    """The line of `forward` that put an intermediate result on its context; the first of the function if it cannot be found."""
    import ast

    from .._source import statements_in

    attribute = cut.how.partition(".")[2].partition("(")[0]
    for statement in statements_in(cut.code):
        found = any(isinstance(node, ast.Attribute) and node.attr == attribute for node in ast.walk(statement))
        if found and isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr):
            return Site.at_line(cut.code, statement.lineno)
    return Site(cut.code, -1)


def mark_kept(ctx: BackwardCFunction, own: type) -> None:
    """Mark the intermediate results that a call has left on its context. `own`: the function."""
    kept = [(f"ctx.{name}", value) for name, value in ctx.__dict__.items() if isinstance(value, Tensor)]
    kept += [("ctx.save_for_backward(...)", entry[0]) for entry in ctx.saved if entry.__class__ is tuple and entry[1] is None]
    for how, tensor in kept:
        cut = tensor._fn
        if cut.__class__ is Cut and cut.kind == "no_grad" and tensor.is_floating_point():
            maker: Any = own.setup_context if "setup_context" in vars(own) else own.forward  # type: ignore[attr-defined]
            tensor._fn = Cut(KEPT, how, maker.__code__)


def warn_of_kept(ctx: BackwardCFunction) -> None:
    """Say, when the backward of a custom function is recorded, which of the values that it may use have lost their history."""
    tensors = [value for value in ctx.__dict__.values() if isinstance(value, Tensor)]
    tensors += [entry[0] for entry in ctx.saved if entry.__class__ is tuple]
    for tensor in tensors:
        cut = tensor._fn
        if cut.__class__ is not Cut or cut.kind != KEPT or (type(ctx), cut.how) in _told:
            continue
        if is_user(cut.code.co_filename) and not is_mask(tensor):
            _told.add((type(ctx), cut.how))
            from .._source import in_own_words

            name = Node.name(ctx).removesuffix("Backward")
            warn(
                f"{name}.backward is differentiated, and {cut.how} keeps an intermediate result of {name}.forward, through which no "
                f"gradient flows ({line_that_kept(cut).where}).\n  fix: {in_own_words(ADVICE)}"
            )


ADVICE = (
    "ctx.save_for_backward the inputs and compute it again in backward, or return it from forward as one more output and save that; "
    "@torch.autograd.function.once_differentiable above backward refuses second derivatives"
)


def is_mask(tensor: Tensor) -> bool:
    """Whether the values are all 0 or 1: their derivative is zero, so that nothing is lost. (Inside a transform nobody can look.)"""
    return tensor._data.__class__ is not np.ndarray or bool(((tensor == 0) | (tensor == 1)).all())
