"""`ad.blame(loss)`: where a nan, an infinity or an exploding gradient came from, after the fact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._errors import InplaceError
from .._explain import leaves_below, named
from .._site import Site, here
from .._tensor import Tensor
from ..autograd import engine
from ..autograd.anomaly import array_of
from ..autograd.node import NOWHERE, Node
from ..autograd.nonfinite import LOGARITHMS, PATTERNS, SINGULAR, Case, is_zero
from ..autograd.views import edge_of
from ..nn._owners import owners_of, tensors_in_sight
from .backward import Births
from .finding import Cause, Finding, Range, bad_samples, kind_of, numbers
from .forward import Steps
from .patterns import ARCS
from .recorder import recording, remembered, replay
from .report import LOOK, RECORD, finished, from_births, from_growth, from_step, names, public, ranges_of_gradients
from .terms import split
from .values import Values, leaves_of, place_of

# Where the derivatives of operations are infinite: at the edges of what they are defined on.
AT_EDGE: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("sqrt", "rsqrt", "reciprocal", *LOGARITHMS), is_zero),
    **dict.fromkeys(ARCS, lambda x: np.abs(x) >= 1),
    "acosh": lambda x: x <= 1,
    "log1p": lambda x: x <= -1,
}
CANDIDATES = 4  # lines that are named where it is not known which of them it was


class blame(Finding):
    """Where a nan, an infinity or an exploding gradient came from: of a loss, a parameter or its gradient. With parameters (a module, or
    tensors, by name or in a list): how much of their gradients comes from which term of the loss.

    A loss whose graph is still there tells everything; its backward pass is run once more for it, and no gradient is changed. After
    `backward()` the graph has lost its values: `with ad.blame.recording():` around the loop keeps what is needed.

    >>> import adjoint as ad
    >>> p = ad.tensor([0.0, 1.0], requires_grad=True)
    >>> found = ad.blame((p * p.log()).sum())
    >>> found.pattern, found.op, found.samples
    ('log(0)', 'log', (0,))
    >>> found.rewrite
    'p.clamp(min=1e-12).log()'
    """

    def __init__(self, tensor: Tensor, parameters: Any = None) -> None:
        super().__init__(**vars(answer(tensor, parameters)))

    recording = recording
    replay = staticmethod(replay)


def answer(tensor: Tensor, parameters: Any = None) -> Finding:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"blame(): argument 'tensor' (position 1) must be Tensor, not {type(tensor).__name__}")
    if not isinstance(tensor._data, np.ndarray):
        return Finding(Cause.NOT_KEPT, "blame looks at ordinary tensors only: not inside transforms of functions, and not at sparse ones.")
    if parameters is not None:
        return split(tensor, {name: p for name, p in named(parameters) if p.requires_grad})
    edge = edge_of(tensor)
    if isinstance(engine.target_of(edge), Node):
        return of_result(tensor)
    if tensor.requires_grad and edge is not NOWHERE:
        return of_leaf(tensor)
    owner = owner_of(tensor)
    return of_leaf(owner) if owner is not None else of_constant(tensor)


def owner_of(gradient: Tensor) -> Tensor | None:
    """The tensor whose `.grad` this is."""
    return next((one for one in owners_of(gradient) if isinstance(one, Tensor) and one._grad is gradient), None)


# ---- a loss ---------------------------------------------------------------------------------------------------------------------------


def of_result(loss: Tensor) -> Finding:
    """Of what was computed: the forward pass if its value is bad, else the backward pass."""
    root = edge_of(loss)
    if (known := remembered(root)) is not None:
        return known
    array = np.asarray(loss._data)
    values = Values([root])
    values.known[place_of(root)] = array
    kind = kind_of(array)
    leaves = leaves_of(values.nodes)
    if kind != "finite":
        step = Steps(values).of(root)
        assert step is not None
        found = from_step(step, "The loss" if array.ndim == 0 else "The result", kind, leaves)
        if values.freed is None:
            births = followed(loss)
            found.parameters = found.parameters or names(births.leaves if isinstance(births, Births) else ())
        elif found.cause is Cause.NOT_KEPT or (found.cause is Cause.DATA and not found.ranges):
            return of_freed(values, f"The loss is {kind}")
        else:
            found.parameters = found.parameters or names(with_bad_gradients(leaves))
        return found
    if values.freed is not None:
        return of_freed_gradients(values, leaves)
    births = followed(loss)
    if isinstance(births, InplaceError):
        message = "The loss is finite, and its backward pass cannot be followed: a value that it needs was overwritten."
        return Finding(Cause.NOT_KEPT, message, advice=RECORD, sites=births.sites)
    return from_births(births, Steps(values).of) or from_growth(births) or healthy(births)


def with_bad_gradients(leaves: list[Tensor]) -> list[Tensor]:
    return [leaf for leaf in leaves if leaf._grad is not None and kind_of(np.asarray(leaf._grad._data)) != "finite"]


def followed(loss: Tensor) -> Births | InplaceError:
    """The backward pass of a loss, run for looking: gradients go nowhere, and the graph is kept. The error if it cannot be run any more,
    because an optimizer has changed the parameters since."""
    root = edge_of(loss)
    births = Births([root], measures=True)
    captured = [leaf for leaf in leaves_of(engine.reachable([root])) if leaf.requires_grad]
    seed = np.ones(loss.shape, loss._data.dtype)
    try:
        engine.run([root], [seed], keep_graph=True, create_graph=False, site=here(), captured=captured, anomaly=births)
    except InplaceError as error:
        return error
    finally:
        for change in births.changes[::-1]:
            change.swap()
    return births


def healthy(births: Births) -> Finding:
    size = max(births.largest.values(), default=0.0)
    return Finding(Cause.FINITE, f"Nothing is to blame: the loss and all gradients are finite, and none is larger than {size:.3g}.")


# ---- a graph that was freed -----------------------------------------------------------------------------------------------------------


def of_freed_gradients(values: Values, leaves: list[Tensor]) -> Finding:
    """A finite loss after backward: the gradients are there, and the values that leaves and numbers still tell."""
    bad = with_bad_gradients(leaves)
    if not bad:
        return Finding(Cause.FINITE, "Nothing is to blame: the loss and the gradients of its leaves are finite.")
    suspects = [node for node in values.nodes if op_name(node) in SINGULAR and leaves_below([node]) <= set(bad)]
    for node in reversed(suspects):
        case = case_of(node, values)
        at_edge = AT_EDGE[case.op](case.values["input"]) if case.op in AT_EDGE and "input" in case.values else np.zeros(0, bool)
        pattern = next(pattern for pattern in PATTERNS if pattern.holds(case))
        if at_edge.any() and pattern is not PATTERNS[-1]:
            message = f"The gradient is not finite: the derivative of {public(case.op)} is infinite ({pattern.name})."
            found = Finding(Cause.BACKWARD, message, pattern.name, pattern.advice.format(op=case.op), op=public(case.op))
            found.sites, found.parameters = {"born": node.site}, names(bad)
            found.ranges = {name: Range.of(value) for name, value in case.values.items()}
            found.samples = bad_samples(np.where(at_edge, np.nan, 0.0))
            return finished(found)
    found = of_freed(values, "The gradient is not finite", suspects)
    found.ranges, found.parameters = ranges_of_gradients(bad), names(bad)
    return found


def case_of(node: Node, values: Values) -> Case:
    """What is known of a node without a gradient."""
    result = values.known.get((node, 0))
    known = {name: np.asarray(value) for name, value in values.inputs(node).items() if value is not None}
    if result is not None:
        known["result"] = np.asarray(result)
    return Case(op_name(node), known, [], np.zeros(0), [], None)


def op_name(node: Node) -> str:
    return node.name() if node.op is None else node.op.name


def of_freed(values: Values, what: str, suspects: list[Node] | None = None) -> Finding:
    """What can be said without values: which lines are able to make such numbers."""
    if suspects is None:
        suspects = [node for node in values.nodes if op_name(node) in SINGULAR]
    lines: dict[tuple[str, int], Site] = {}
    for node in suspects:
        lines.setdefault((node.site.filename, node.site.line), node.site)
    sites = {f"candidate {place}": site for place, site in enumerate(list(lines.values())[:CANDIDATES], 1)}
    if values.freed is not None:
        sites["freed"] = values.freed
    for name, tensor in tensors_in_sight().items():
        if tensor._fn is None and np.isnan(plain(tensor)).any() and owner_of(tensor) is None:  # no result, and nobody's gradient
            message = f"{what}, and there is nan in {name}, which seems to be the data."
            ranges, samples = {name: Range.of(tensor._data)}, bad_samples(tensor._data)
            return Finding(Cause.DATA, message, "bad input data", LOOK, ranges=ranges, samples=samples)
    message = f"{what}, and backward() has freed the values that would tell where from" + (
        "; these lines are able to make such numbers." if suspects else "."
    )
    return Finding(Cause.NOT_KEPT, message, advice=RECORD, sites=sites)


def plain(tensor: Tensor) -> Any:
    """The numbers of a tensor; none where it holds others than those with a fraction."""
    array = array_of(tensor)
    return np.zeros(0) if array is None else numbers(array)


# ---- a parameter, or its gradient -----------------------------------------------------------------------------------------------------


def of_leaf(leaf: Tensor) -> Finding:
    """Of a leaf: the backward pass that made its gradient, if a loss that reaches it is in sight."""
    gradient = leaf._grad
    bad = [one for one in (leaf, gradient) if one is not None and kind_of(one._data) != "finite"]
    if bad and (known := remembered(leaf)) is not None:
        return known
    (name,) = names([leaf])
    if (kind := kind_of(np.asarray(leaf._data))) != "finite":
        message = f"{name} itself is {kind}: a step of the optimizer has spoilt it."
        fix = "its gradient was not finite, or the learning rate is too high: " + RECORD
        return Finding(Cause.PARAMETER, message, "bad parameter", fix, ranges={name: Range.of(leaf._data)}, parameters=(name,))
    loss = next((tensor for tensor in losses_in_sight() if leaf in leaves_below([edge_of(tensor)])), None)
    if loss is not None:
        return of_result(loss)
    if gradient is None:
        return Finding(Cause.FINITE, f"{name} has no gradient. ad.explain(loss, model) says why.")
    if kind_of(np.asarray(gradient._data)) == "finite":
        return Finding(Cause.FINITE, f"Nothing is to blame: {name} and its gradient are finite.")
    message = f"The gradient of {name} is not finite, and no loss that reaches it is in sight."
    return Finding(
        Cause.NOT_KEPT, message, advice=RECORD, ranges={"gradient": Range.of(gradient._data)}, samples=(), parameters=(name,)
    )


def losses_in_sight() -> list[Tensor]:
    """The results that variables of the program hold: single numbers first, the latest first."""
    results = {id(tensor): tensor for tensor in tensors_in_sight().values() if tensor.grad_fn is not None}
    return sorted(results.values(), key=lambda tensor: (tensor.numel() != 1, -tensor.grad_fn.seq))


def of_constant(tensor: Tensor) -> Finding:
    """Of a tensor without history."""
    if (known := remembered(tensor)) is not None:
        return known
    array = tensor._data
    if kind_of(array) == "finite":
        return Finding(Cause.FINITE, "Nothing is to blame: this tensor is finite.")
    message = f"This tensor holds {kind_of(array)} and has no history that would tell where from. ad.explain(tensor) says why."
    return Finding(Cause.NOT_KEPT, message, advice=RECORD, ranges={"tensor": Range.of(array)}, samples=bad_samples(array))
