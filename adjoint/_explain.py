"""`ad.explain(t)`: why this gradient is None, why this loss requires no grad, which parameters this loss does not reach.

The facts are kept as things happen and cost nothing: every node knows its line, and a tensor whose history was cut off carries the cut
(`Cut` in autograd/node.py), which is passed on to what is computed from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

from ._site import PassSite, Site
from ._tensor import Tensor
from .autograd.causes import Cause, Reason, cut_behind, why_cut, why_no_history
from .autograd.engine import passes_begun, reachable
from .autograd.function import BackwardCFunction
from .autograd.node import NOWHERE, RETURNED_NONE, Cut, Freed, Node, cuts_before_last_pass
from .autograd.views import edge_of
from .autograd.warnings import replaces_leaf

__all__ = ["Cause", "Explanation", "explain"]


class Explanation:
    """What became of a gradient. `cause` is one of a closed set; `sites` are the lines that had a part in it, by their roles."""

    def __init__(self, reason: Reason, message: str, sites: dict[str, Site] | None = None) -> None:
        self.cause: Cause = reason.cause
        self.advice: str = reason.advice
        self.message = message
        self.sites: dict[str, Site] = {} if reason.site is None else {"cut": reason.site}
        self.sites |= sites or {}
        self.parameters: dict[str, Explanation] = {}  # for `explain(loss, model)`: those that are not reached

    @property
    def site(self) -> Site | None:
        """The line to look at first."""
        return next(iter(self.sites.values()), None)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self, indent: str = "") -> Iterator[str]:
        yield f"{indent}{self.message}"
        width = max(map(len, self.sites), default=0)
        for role, site in self.sites.items():
            yield f"{indent}  {role:<{width}}  {site}"
            if site.caret:
                yield f"{indent}  {'':<{width}}  {site.caret}"
        if self.cause is not Cause.HAS_GRADIENT:
            yield f"{indent}  fix: {self.advice}"
        for name, explanation in self.parameters.items():
            yield f"{indent}  {name}: {explanation.message}"

    def __repr__(self) -> str:
        return f"<Explanation {self.cause.name}: {self.message}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(role)}</td><td>{escape(site.where)}</td><td><code>{escape(site.text)}</code></td></tr>"
            for role, site in self.sites.items()
        )
        items = "".join(f"<li><code>{escape(name)}</code>: {escape(e.message)}</li>" for name, e in self.parameters.items())
        return (
            f"<div><b>{escape(self.cause.name)}</b> {escape(self.message)}"
            + (f"<table>{rows}</table>" if rows else "")
            + (f"<p>{escape(self.advice)}</p>" if self.cause is not Cause.HAS_GRADIENT else "")
            + (f"<ul>{items}</ul>" if items else "")
            + "</div>"
        )


def explain(tensor: Tensor, parameters: Any = None) -> Explanation:
    """Why the `.grad` of a tensor is what it is, and why it requires grad or not. With a module (or tensors, by name or in a list):
    which of its parameters the tensor, a loss, does not reach, and why.

    >>> import adjoint as ad
    >>> x = ad.ones(2, requires_grad=True)
    >>> y = (x * 2).detach()
    >>> ad.explain((y + 1).sum()).cause
    <Cause.DETACH: 'detach'>
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"explain(): argument 'tensor' (position 1) must be Tensor, not {type(tensor).__name__}")
    if parameters is not None:
        return explain_reach(tensor, dict(named(parameters)))
    if not tensor.requires_grad or edge_of(tensor) is NOWHERE:
        return explain_no_history(tensor)
    if tensor._grad is not None:
        return explain_gradient(tensor, tensor._grad)
    return explain_leaf(tensor) if tensor.is_leaf else explain_result(tensor)


def shown(tensor: Tensor) -> str:
    from ._source import called
    from .nn._owners import name_of

    return described(name_of(tensor) or called(tensor, "This tensor"), tensor)


def described(name: str, tensor: Tensor) -> str:
    return f"{name} ({str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)})"


# ---- one tensor -------------------------------------------------------------------------------------------------------------------------

NO_HISTORY = {
    Cause.DETACH: "{how} cut its history off",
    Cause.DATA: ".data cut its history off",
    Cause.NO_GRAD: "it was computed while nothing was recorded",
    Cause.INFERENCE_MODE: "it was made in inference mode",
    Cause.INTEGERS: "{how} cut its history off, for integers have no derivative",
    Cause.NO_DERIVATIVE: "it was computed by {how}, which has no derivative",
    Cause.REWRAPPED: "{how} copied the values and left the history behind",
    Cause.VALUE_TAKEN: "it was made of the plain numbers that {how} gave",
    Cause.NON_DIFFERENTIABLE_OUTPUT: "it is an output of {how} that is marked as not differentiable",
    Cause.CHECKPOINT: "{how} records nothing where no input requires grad",
    Cause.NO_CREATE_GRAPH: "it was computed from what {how} gave, and that was not recorded",
    Cause.KEPT_ON_CTX: "it was computed from {how}, an intermediate result that the forward of a custom function kept",
    Cause.FROZEN: "requires_grad is False: it is frozen",
    Cause.CONSTANT: "nothing that it was computed from requires grad",
}


def explain_no_history(tensor: Tensor) -> Explanation:
    reason = why_no_history(tensor)
    flag = "requires no grad" if not tensor.requires_grad else "leads no gradient on"
    return Explanation(reason, f"{shown(tensor)} {flag}: {NO_HISTORY[reason.cause].format(how=reason.how)}.")


def explain_gradient(tensor: Tensor, gradient: Tensor) -> Explanation:
    if gradient.numel() and not bool((gradient != 0).any()):
        return Explanation(Reason(Cause.ZERO), f"{shown(tensor)} has a gradient, and it is exactly zero everywhere.")
    if count := gradient.numel() - int(gradient.isfinite().sum()):
        message = f"{shown(tensor)} has a gradient of which {count} of {gradient.numel()} elements are NaN or infinite."
        return Explanation(Reason(Cause.NOT_FINITE), message)
    if passes := passes_added(gradient):
        message = f"{shown(tensor)} has a gradient, which was added up over {len(passes) + 1} backward passes since the last zero_grad()."
        return Explanation(Reason(Cause.ACCUMULATED), message, {"added": passes[-1]})
    return Explanation(Reason(Cause.HAS_GRADIENT), f"{shown(tensor)} has a gradient.")


def passes_added(gradient: Tensor) -> list[Site]:
    """The lines of the backward passes that were added to the gradient of the first one (the last few of them)."""
    writes = gradient._vc.writes if gradient._vc is not None else []
    lines: list[Site] = []
    for _, site in reversed(writes):
        if not isinstance(site, PassSite):
            return lines[1:]  # such as zero_(): the pass after it was the first one
        lines.insert(0, site)
    return lines


def explain_leaf(leaf: Tensor) -> Explanation:
    """A leaf whose gradient is None."""
    if "_grad" in leaf.__dict__:
        return Explanation(Reason(Cause.SET_TO_NONE), f"{shown(leaf)} had its gradient set to None, as zero_grad() does.")
    if (none := returned_none_above(leaf)) is not None:
        return none
    cut = leaf.__dict__.get("_cut")
    sites = {"made from a tensor that was cut": cut.site} if isinstance(cut, Cut) and cut.site is not None else {}
    if not passes_begun():
        return Explanation(Reason(Cause.NO_BACKWARD_YET), f"{shown(leaf)} has no gradient: backward() was not called yet.", sites)
    message = f"{shown(leaf)} has no gradient: no backward() came here. explain(loss, tensor) says more."
    return with_recent_cuts(Explanation(Reason(Cause.NOT_REACHED), message, sites))


def returned_none_above(leaf: Tensor) -> Explanation | None:
    """The custom function that returned None on the way to a leaf."""
    for below, name, site in reversed(RETURNED_NONE):
        target = below()
        if target is leaf or (isinstance(target, Node) and leaf in leaves_below([target])):
            function = name.removesuffix("Backward")
            return Explanation(
                Reason(Cause.FUNCTION_RETURNED_NONE, f"{function}.backward", site), f"{function}.backward returned None on the way to it."
            )
    return None


def with_recent_cuts(found: Explanation) -> Explanation:
    """The same with the lines that cut histories off lately: after a backward pass it is not known which of them did it."""
    found.sites |= (recent := sites_of_cuts(cuts_before_last_pass()))
    if recent:
        found.advice = "where gradients shall flow through one of these lines, leave the cut out; otherwise " + found.advice
    return found


def sites_of_cuts(cuts: Iterable[Cut]) -> dict[str, Site]:
    """The lines of cuts, by what cut."""
    sites: dict[str, Site] = {}
    for cut in cuts:
        if cut.site is not None and cut.site not in sites.values():
            role = f"cut by {cut.how}"
            sites[role if role not in sites else f"{role} ({len(sites) + 1})"] = cut.site
    return sites


def explain_result(tensor: Tensor) -> Explanation:
    """A tensor that was computed, whose gradient is None."""
    from ._source import subtraction_in_place

    node: Node = tensor.grad_fn
    sites = {"made": node.site}
    if tensor.retains_grad:
        message = f"{shown(tensor)} keeps its gradient, and backward() did not come here yet."
        return Explanation(Reason(Cause.NO_BACKWARD_YET), message, sites)
    if replaces_leaf(node):
        message = f"{shown(tensor)} is no leaf: it was computed from one that has a gradient, and seems to have taken its place."
        found = Explanation(Reason(Cause.REPLACED_LEAF), message, sites)
        found.advice = found.advice.replace("w -= lr * w.grad", subtraction_in_place(node.site) or "w -= lr * w.grad")
        return found
    return Explanation(
        Reason(Cause.NOT_A_LEAF), f"{shown(tensor)} is no leaf: it was computed, by {node.name()}, and does not keep its gradient.", sites
    )


# ---- a loss and parameters --------------------------------------------------------------------------------------------------------------


def named(parameters: Any) -> Iterable[tuple[str, Tensor]]:
    """Tensors with their names: those of a module, a mapping, a sequence, or a single one."""
    if hasattr(parameters, "named_parameters"):
        return parameters.named_parameters()  # type: ignore[no-any-return]
    if isinstance(parameters, Mapping):
        return parameters.items()
    if isinstance(parameters, Tensor):
        return [("tensor", parameters)]
    return [(f"[{place}]", tensor) for place, tensor in enumerate(parameters)]


def leaves_below(roots: list[Any]) -> set[Tensor]:
    leaves = {root for root in roots if isinstance(root, Tensor)}
    for node in reachable(roots):
        leaves.update(edge for edge in node.next if isinstance(edge, Tensor))
    return leaves


def cuts_below(nodes: Iterable[Node], leaves: Iterable[Tensor]) -> Iterator[Cut]:
    """The cuts that a graph shows: of tensors that its nodes keep, and of leaves that were made from tensors with a history."""
    for node in nodes:
        for kept in node.saved if isinstance(node.saved, tuple) else ():
            value = kept[0] if isinstance(kept, tuple) and kept else kept
            cut = cut_behind(value) if isinstance(value, Tensor) else None
            if cut is not None:
                yield cut
    for leaf in leaves:
        if isinstance(cut := leaf.__dict__.get("_cut"), Cut):
            yield cut


def explain_reach(loss: Tensor, parameters: dict[str, Tensor]) -> Explanation:
    """Which parameters a loss does not reach."""
    if not loss.requires_grad:
        found = explain_no_history(loss)
        found.parameters = {name: why_unreached(p) for name, p in parameters.items()}
        return found
    root = edge_of(loss)
    nodes, leaves = reachable([root]), leaves_below([root])
    missing = {name: why_unreached(p) for name, p in parameters.items() if p not in leaves}
    missing |= {name: e for name, p in parameters.items() if p in leaves and (e := why_none(p, nodes)) is not None}
    sites = {} if loss.grad_fn is None else {"loss": loss.grad_fn.site}
    cuts = list(cuts_below(nodes, leaves))
    sites |= sites_of_cuts(cuts)
    if not missing:
        return Explanation(Reason(Cause.HAS_GRADIENT), f"The loss reaches all {len(parameters)} parameters.", sites)
    first = next(iter(missing.values()))
    found = Explanation(
        Reason(first.cause), f"The loss does not give a gradient to {len(missing)} of {len(parameters)} parameters.", sites
    )
    found.parameters = missing
    found.advice = first.advice
    if first.cause is Cause.NOT_REACHED and cuts:
        found.advice = why_cut(cuts[0]).advice
    elif first.cause is Cause.NOT_REACHED and any(isinstance(node.saved, Freed) for node in nodes):
        with_recent_cuts(found)
    return found


def why_unreached(parameter: Tensor) -> Explanation:
    if not parameter.requires_grad:
        return explain_no_history(parameter)
    if not parameter.is_leaf:
        return explain_result(parameter)
    return Explanation(Reason(Cause.NOT_REACHED), f"{described('This tensor', parameter)} has no part in the graph of the loss.")


def why_none(parameter: Tensor, nodes: list[Node]) -> Explanation | None:
    """Why a parameter that a loss reaches has no gradient after backward; None if it has one, or backward did not run yet."""
    if parameter._grad is not None or "_grad" in parameter.__dict__:
        return None
    if (none := returned_none_above(parameter)) is not None or not any(isinstance(node.saved, Freed) for node in nodes):
        return none
    for node in nodes:
        if isinstance(node, BackwardCFunction) and parameter in leaves_below([node]):
            name = node.name().removesuffix("Backward")
            return Explanation(
                Reason(Cause.FUNCTION_RETURNED_NONE, f"{name}.backward", node.site), f"{name}.backward returned None on the way to it."
            )
    return None
