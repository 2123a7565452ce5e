"""Why a gradient is missing: the closed set of causes, each with what to do about it. Errors and `ad.explain` both speak from here."""

from __future__ import annotations

from enum import Enum
from typing import Any

from .._site import Site
from .._tensor import Parameter, Tensor
from .node import UNRECORDED, Cut
from .views import View


class Cause(Enum):
    """What became of a gradient."""

    # why a tensor requires no grad
    DETACH = "detach"
    DATA = "data"
    NO_GRAD = "no_grad"
    INFERENCE_MODE = "inference_mode"
    INTEGERS = "integers"
    NO_DERIVATIVE = "no derivative"
    REWRAPPED = "rewrapped"
    VALUE_TAKEN = "value taken"
    NON_DIFFERENTIABLE_OUTPUT = "non-differentiable output"
    CHECKPOINT = "checkpoint"
    NO_CREATE_GRAPH = "no create_graph"
    KEPT_ON_CTX = "kept on ctx"
    CONSTANT = "constant"
    FROZEN = "frozen"
    # why the `.grad` of one that does is None
    NOT_A_LEAF = "not a leaf"
    REPLACED_LEAF = "replaced leaf"
    NO_BACKWARD_YET = "no backward yet"
    NOT_REACHED = "not reached"
    SET_TO_NONE = "set to none"
    FUNCTION_RETURNED_NONE = "function returned None"
    # there is a gradient
    ACCUMULATED = "accumulated"
    ZERO = "zero"
    NOT_FINITE = "not finite"
    HAS_GRADIENT = "has gradient"


ADVICE = {
    Cause.DETACH: "{how}{line} cut the graph: leave it out where gradients shall flow",
    Cause.DATA: "{how}{line} cut the graph: leave it out where gradients shall flow",
    Cause.NO_GRAD: "compute it outside no_grad(), and where grad mode was turned off with set_grad_enabled(False), turn it on again",
    Cause.INFERENCE_MODE: "compute it outside inference_mode(); x.clone() outside makes an ordinary tensor of a result of it",
    Cause.INTEGERS: "{how}{line} cut the graph: leave it out where gradients shall flow",
    Cause.NO_DERIVATIVE: "{how}{line} has no derivative: use something smooth in its place, such as softmax for argmax, sigmoid for a "
    "comparison, or give the values themselves to the loss",
    Cause.REWRAPPED: "{how}{line} cut the graph: use the tensor itself, and torch.stack(tensors) to join several",
    Cause.VALUE_TAKEN: "compute with the tensor itself; .item(), .tolist() and .numpy() give plain numbers, which have no history",
    Cause.NON_DIFFERENTIABLE_OUTPUT: "{how}{line} marked this output with ctx.mark_non_differentiable: do not, if it has a derivative",
    Cause.CHECKPOINT: "{how}{line} records nothing if no input requires grad, even if parameters do: pass use_reentrant=False",
    Cause.NO_CREATE_GRAPH: "{how}{line} was not recorded: pass create_graph=True to it where its result is to be differentiated",
    Cause.KEPT_ON_CTX: "{how}{line} keeps an intermediate result: ctx.save_for_backward the inputs and compute it again in backward, or "
    "return it from forward as one more output and save that",
    Cause.CONSTANT: "make the inputs with requires_grad=True, and compute the result outside no_grad(), without detach(), .data, .item(), "
    ".numpy() or torch.tensor(...) in between; setting requires_grad on the result itself does not reach the inputs",
    Cause.FROZEN: "call requires_grad_() on it, or on the module that owns it, before the computation",
    Cause.NOT_A_LEAF: "call retain_grad() on it before backward(), or look at the .grad of the leaves that it was computed from",
    Cause.REPLACED_LEAF: "change the leaf in place, with torch.no_grad(): w -= lr * w.grad, so that it stays the same tensor",
    Cause.NO_BACKWARD_YET: "call backward() on the loss first",
    Cause.NOT_REACHED: "use it in the computation of the loss, or pass the very tensor that the loss was computed from, not a copy",
    Cause.SET_TO_NONE: "look at .grad between backward() and zero_grad(), which sets it to None",
    Cause.FUNCTION_RETURNED_NONE: "return a gradient for this input from {how}",
    Cause.ACCUMULATED: "call zero_grad() before each backward(), unless the gradients of several passes are meant to be added up",
    Cause.ZERO: "look for what is flat there: a relu that is negative for every input, a saturated sigmoid or tanh, round() or floor()",
    Cause.NOT_FINITE: "run one step under torch.autograd.set_detect_anomaly(True), which names the line that made the first NaN; the usual "
    "ones are log or sqrt of 0, a division by 0, exp of something large",
    Cause.HAS_GRADIENT: "nothing is missing",
}


class Reason:
    """A cause as it applies to one tensor: what did it, and where."""

    def __init__(self, cause: Cause, how: str = "", site: Site | None = None) -> None:
        self.cause = cause
        self.how = how
        self.site = site

    @property
    def advice(self) -> str:
        from .._source import in_own_words

        return in_own_words(ADVICE[self.cause].format(how=self.how, line="" if self.site is None else f" on line {self.site.line}"))


def cut_behind(tensor: Tensor) -> Cut | None:
    """The cut that a tensor without history carries, itself or as a view."""
    fn: Any = tensor._fn
    if isinstance(fn, View):
        fn = fn.base._fn
    return fn if isinstance(fn, Cut) else None


def why_cut(cut: Cut) -> Reason:
    cause, site = Cause(cut.kind), cut.site
    if cause is Cause.KEPT_ON_CTX:
        from .kept import line_that_kept

        site = line_that_kept(cut)
    return Reason(cause, cut.how, site)


def why_no_history(tensor: Tensor) -> Reason:
    """Why a tensor requires no grad."""
    if tensor.is_inference():
        return Reason(Cause.INFERENCE_MODE)
    cut = cut_behind(tensor)
    if cut is None and isinstance(tensor._fn, View) and tensor._fn.base.requires_grad:
        cut = UNRECORDED.last  # a view that was made while nothing was recorded
    if cut is not None:
        return why_cut(cut)
    return Reason(Cause.FROZEN if isinstance(tensor, Parameter) else Cause.CONSTANT)
