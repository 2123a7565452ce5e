"""Views, and in-place writes to them.

Note [Views follow their base]
A view shares memory and version counter with its base, and its history is that of the base seen through the view. When the base is
written in place its history changes, and with it that of every view:

    x = w * 2           w --Mul--> x
    v = x[0]                       x --Select--> v
    v.mul_(3)           w --Mul--> x' --CopySlices--> x,   v = Select(x) again

`CopySlices` is the whole write as seen from the base: outside the view the gradient passes unchanged; inside, it goes through the
node of the write (here Mul). The view's own history is not repaired at once: a view remembers for which history of its base it was
made, and makes it anew when it is asked and finds another (`View.resolve`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import InplaceError
from .._state import GRAD, INFERENCE, get_mode, recording, swap_bits
from .accumulate import laid_out_like
from .node import INFERENCE_TENSOR, LEAF, Edge, Node, VersionCounter, new_node, public_edge

if TYPE_CHECKING:
    from .._site import Site
    from .._tensor import Tensor

new = object.__new__
ViewOp = Any  # what has `view_of(base, params)`: an Op, or the Nth result of one

# How a view was made decides what may be done with it later.
ORDINARY, NO_GRAD, SEVERAL = "ordinary", "no_grad", "several"


class View:
    """The history of a view: `op(parent, *params)`, where parent is the base or another view of it."""

    __slots__ = ("base", "creation", "made_for", "node", "op", "params", "parent")
    direct = False

    def __init__(self, tensor: Tensor, op: ViewOp, params: tuple[Any, ...], node: Edge, creation: str = ORDINARY) -> None:
        parent = tensor._fn
        self.parent = parent if isinstance(parent, View) else None
        self.base: Tensor = tensor if self.parent is None else self.parent.base
        self.op = op
        self.params = params
        self.node = node
        self.made_for = self.base._fn
        self.creation: str = creation if self.parent is None or creation != ORDINARY else self.parent.creation

    def sibling(self, op: ViewOp, node: Edge) -> View:
        """Another view of the same tensor, made by the same call."""
        view = new(View)
        view.parent = self.parent
        view.base = self.base
        view.op = op
        view.params = self.params
        view.node = node
        view.made_for = self.made_for
        view.creation = self.creation
        return view

    def required(self, tensor: Tensor) -> bool:
        """Whether a gradient is required. This may be asked even of a view that may not be used any more."""
        if self.creation != ORDINARY and self.base._fn is not self.made_for:
            return self.base.requires_grad
        return self.resolve(tensor) is not None

    def resolve(self, tensor: Tensor) -> Edge:
        fn = self.base._fn
        if fn is not self.made_for and fn is not None and fn is not LEAF:
            if self.creation == SEVERAL:
                raise refused_output(self, "its base or another view of its base has been modified inplace")
            if self.creation == NO_GRAD:
                raise refused_no_grad("its base or another view of its base has been modified inplace")
            self.made_for = fn
            bits = swap_bits(GRAD | INFERENCE, GRAD)
            try:
                again = self.replay(self.base)._fn
            finally:
                swap_bits(GRAD | INFERENCE, bits)
            before, self.node = self.node, again.node if isinstance(again, View) else again
            move_retained(tensor, before, self.node)
        return self.node

    def replay(self, base: Any) -> Any:
        """The same view of another base of the same shape: an array from an array, a Tensor from a Tensor."""
        steps = []
        step: View | None = self
        while step is not None:
            steps.append(step)
            step = step.parent
        for step in reversed(steps):
            base = step.op.view_of(base, step.params)
        return base


class CopySlices(Node):
    """A write to a view, seen from its base; see Note [Views follow their base]."""

    __slots__ = ()

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def apply(self, g: Any) -> tuple[Any, ...]:
        write, view = self.saved
        whole = laid_out_like(g, view.base._data)
        inside = view.replay(whole)
        grads = write.apply(inside.copy()) if write is not None else ()
        own, others = split_own(write, grads)
        inside[...] = 0 if own is None else own
        return (whole, *others)

    def apply_recorded(self, g: Any) -> tuple[Any, ...]:
        write, view = self.saved
        whole = g.clone()
        inside = view.replay(whole)
        grads = write.apply_recorded(view.replay(g)) if write is not None else ()
        own, others = split_own(write, grads)
        if own is None:
            inside.zero_()
        else:
            inside.copy_(own)
        return (whole, *others)


def split_own(write: Node | None, grads: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The gradient of the written tensor's old value, which a write may ignore (`copy_`), and those of the other inputs."""
    if write is None or write.own_slot not in write.input_slots:
        return None, grads
    place = write.input_slots.index(write.own_slot)
    return grads[place], grads[:place] + grads[place + 1 :]


def counter_of(tensor: Tensor) -> VersionCounter:
    counter: VersionCounter | None = tensor._vc
    if counter is None:
        counter = tensor._vc = VersionCounter()
    return counter


def edge_of(tensor: Tensor) -> Edge:
    """Where the gradient of a tensor goes, in resolved form."""
    fn = tensor._fn
    return fn if fn is None or fn.direct else fn.resolve(tensor)


def set_history(tensor: Tensor, node: Node | None, site: Site) -> None:
    """Record that `node` made the present value of `tensor`, which was written in place."""
    view = tensor._fn
    if not isinstance(view, View):
        before, tensor._fn = tensor._fn, node
        move_retained(tensor, before, node)
        return
    base = view.base
    edge = edge_of(base)
    _, others = split_own(node, node.next if node is not None else ())
    if edge is None and not others:
        return
    base._fn = new_node(CopySlices, (edge, *others), (node, view), site)
    move_retained(base, edge, base._fn)


def move_retained(tensor: Tensor, before: Edge, now: Edge) -> None:
    """`retain_grad` stays with the tensor: after a write it means the gradient of the new value."""
    if tensor._retains and before is not None and now is not None:
        (old, old_nr), (new, new_nr) = public_edge(before), public_edge(now)
        kept = old._hooks().retained.pop(old_nr, None)
        if kept is not None:
            new._hooks().retained[new_nr] = kept


def check_writable(tensor: Tensor, recorded: bool, *, one_value: bool = False) -> None:
    """Refuse a write that must not happen, before anything is written. `recorded`: some operand requires grad and recording is on.
    `one_value`: all elements get the same value, so they may share memory."""
    data = tensor._data
    if not one_value and data.__class__ is np.ndarray and 0 in data.strides and overlaps_itself(data):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation.\n"
            "  fix: x = x.clone() before writing to it (an expanded tensor repeats one element many times)"
        )
    if tensor._vc is INFERENCE_TENSOR and not get_mode() & INFERENCE:
        raise InplaceError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal tensor "
            "before doing inplace update.",
            fix="x = x.clone() first, or compute x under no_grad instead of inference_mode",
        )
    fn = tensor._fn
    if not recorded:
        if isinstance(fn, View) and fn.creation == NO_GRAD and recording() and fn.base.requires_grad:
            raise refused_no_grad("is being modified inplace")
        return
    if fn is LEAF:
        raise InplaceError(
            "a leaf Variable that requires grad is being used in an in-place operation.",
            fix="with torch.no_grad(): x.add_(...) to change a parameter, or x = x + ... to compute with it",
        )
    if isinstance(fn, View):
        check_view(tensor, fn)


def check_view(tensor: Tensor, view: View) -> None:
    if view.creation == NO_GRAD:
        raise refused_no_grad("is being modified inplace")
    if view.creation == SEVERAL:
        raise refused_output(view, "is being modified inplace")
    if view.base._fn is LEAF:
        raise InplaceError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation.",
            fix="with torch.no_grad(): around the write, or write to a copy: y = x.clone(); y[...] = value",
        )


def refused_no_grad(happened: str) -> InplaceError:
    """The error for a write that reaches a view made while nothing was recorded."""
    return InplaceError(
        f"A view was created in no_grad mode and {happened} with grad mode enabled. "
        "Given that this use case is ambiguous and error-prone, it is forbidden. "
        "You can clarify your code by moving both the view and the inplace either both inside the no_grad block (if you don't want "
        "the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
    )


def refused_output(view: View, happened: str) -> InplaceError:
    """The error for a write that reaches one of several views made by one function."""
    op: Any = getattr(view.op, "op", view.op)
    nr = getattr(view.op, "nr", 0)
    name = op.node_name("T").split("Backward")[0]
    return InplaceError(
        f"Output {nr} of {name} is a view and {happened}. This view is the output of a function that returns multiple views. "
        "Such functions do not allow the output views to be modified inplace. "
        "You should replace the inplace operation by an out-of-place one.",
        fix="take the parts one by one, x[i] or x.narrow(dim, start, length): those may be written to",
    )


def overlaps_itself(data: Any) -> bool:
    """Whether elements share memory, as those of an expanded tensor do. (NumPy gives empty arrays strides of zero.)"""
    return data.size > 1 and any(stride == 0 and size > 1 for stride, size in zip(data.strides, data.shape, strict=True))
