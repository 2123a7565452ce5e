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

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import InplaceError
from .._site import here, user_frame
from .._state import GRAD, INFERENCE, SAVED_HOOKS, get_mode, swap_bits, tick
from .node import (
    INFERENCE_TENSOR,
    LEAF,
    NOWHERE,
    UNRECORDED,
    Cut,
    Edge,
    Freed,
    Node,
    VersionCounter,
    leaf_history,
    new_node,
    public_edge,
)
from .regions import Region, replayed

if TYPE_CHECKING:
    from .._site import Site
    from .._tensor import Tensor

new = object.__new__
ViewOp = Any  # what has `view_of(base, params)`: an Op, or the Nth result of one

# How a view was made decides what may be done with it later.
ORDINARY, NO_GRAD, INFERENCE_VIEW, SEVERAL, CUSTOM = "ordinary", "no_grad", "inference", "several", "custom"


class View:
    """The history of a view: `op(parent, *params)`, where parent is the base or another view of it."""

    __slots__ = ("base", "creation", "made_for", "node", "op", "params", "parent", "version")
    direct = False

    base: Tensor
    creation: str
    made_for: Any
    node: Edge
    op: ViewOp
    params: tuple[Any, ...]
    parent: View | None
    version: int  # of the base when the view was made; only where `creation` is not ORDINARY

    @staticmethod
    def of(tensor: Tensor, op: ViewOp, params: tuple[Any, ...], node: Edge, creation: str = ORDINARY) -> View:
        """The history of a view of `tensor`. (A class without `__init__` is called sooner.)"""
        view = View()
        parent = tensor._fn
        view.parent = parent if parent.__class__ is View else None
        view.base = tensor if view.parent is None else view.parent.base
        view.op = op
        view.params = params
        view.node = node
        view.made_for = view.base._fn
        view.creation = creation if view.parent is None or creation is not ORDINARY else view.parent.creation
        if view.creation is not ORDINARY:
            view.version = counter_of(tensor).version
        return view

    def made_by_custom_function(self, node: Edge, creation: str) -> None:
        """The history of a view that the forward of a custom function returned: it is the function's, not the view's own."""
        self.node = node
        self.creation = creation
        self.made_for = self.base._fn
        self.version = counter_of(self.base).version

    def required(self, tensor: Tensor) -> bool:
        """Whether a gradient is required. This may be asked even of a view that may not be used any more."""
        if self.creation is not ORDINARY:
            return self.node is not None or edge_of(self.base) is not None
        return self.resolve(tensor) is not None

    def is_stale(self, tensor: Tensor) -> bool:
        """Whether its memory was written to since, and its history cannot be made anew."""
        return self.creation is not ORDINARY and self.version != counter_of(tensor).version and self.required(self.base)

    def resolve(self, tensor: Tensor) -> Edge:
        fn = self.base._fn
        if self.creation is not ORDINARY:
            if self.is_stale(tensor):
                raise refused(self, "its base or another view of its base has been modified inplace")
        elif fn is not self.made_for and fn is not None and fn is not LEAF:
            if fn.__class__ is not Cut:
                self.made_for = fn
                self.renew(tensor)
            elif fn.before is not None and fn.before != (id(self.made_for), self.base._vc.version) and self.node is not None:
                # The base was written to and detached: its history is not that of these values.
                self.made_for, self.node = fn, new_node(AsStridedBackward0, (), (), here())
        # A view that was made when nothing was recorded requires grad with its base, but its gradient is lost.
        return self.node if self.node is not None or edge_of(self.base) is None else NOWHERE

    def renew(self, tensor: Tensor) -> None:
        """Make the history anew from the present one of the base."""
        region = Region.of(self, tensor)
        if region is None:
            return
        bits = swap_bits(GRAD | INFERENCE, GRAD)
        try:
            again = region(self.base)._fn
        finally:
            swap_bits(GRAD | INFERENCE, bits)
        before, self.node = self.node, again.node if isinstance(again, View) else again
        move_retained(tensor, before, self.node)

    def steps(self) -> tuple[tuple[ViewOp, tuple[Any, ...]], ...]:
        """The view ops that lead from the base to this view, with their parameters."""
        steps = []
        step: View | None = self
        while step is not None:
            steps.append((step.op, step.params))
            step = step.parent
        steps.reverse()
        return tuple(steps)

    def replay(self, base: Any) -> Any:
        """The same view of another base of the same geometry: an array from an array, a Tensor from a Tensor."""
        return replayed(base, self.steps())


class AsStridedBackward0(Node):
    """The history of a view of what has none any more: it leads nowhere."""

    __slots__ = ()
    input_count = 1
    keeps_tensors = False

    def apply(self, g: Any) -> tuple[Any, ...]:
        return ()

    apply_recorded = apply


class CopySlices(Node):
    """A write to a view, seen from its base; see Note [Views follow their base]."""

    __slots__ = ()

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        base = (public_edge(self.next[0]),)
        if isinstance(self.saved, Freed) or self.saved[0] is None:
            return base + tuple(map(public_edge, self.next[1:]))
        write = self.saved[0]
        return base + tuple(edge for slot, edge in enumerate(write.next_functions) if slot != write.own_slot)

    def apply(self, g: Any) -> tuple[Any, ...]:
        write, region = self.saved
        whole, inside = region.opened(g)
        grads = write.apply(inside.copy()) if write is not None else ()
        own, others = split_own(write, grads)
        inside[...] = 0 if own is None else own
        return (whole, *others)

    def apply_recorded(self, g: Any) -> tuple[Any, ...]:
        write, region = self.saved
        grads = write.apply_recorded(region.of_gradient(g)) if write is not None else ()
        own, others = split_own(write, grads)
        whole, inside = region.opened_recorded(g, own)
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
        made = VersionCounter()
        counter = tensor._vc
        if counter is None:  # another thread may have been faster; between this question and the answer it cannot come
            counter = tensor._vc = made
    return counter


def edge_of(tensor: Tensor) -> Edge:
    """Where the gradient of a tensor goes, in resolved form."""
    fn = tensor._fn
    return fn if fn is None or fn.direct else fn.resolve(tensor)


def cut_of(*tensors: Tensor) -> Cut | None:
    """Why what is computed from these tensors, and not recorded, has no history; None if there never was one."""
    for tensor in tensors:
        fn = tensor._fn
        if isinstance(fn, View):
            fn = fn.node or fn.base._fn
        if fn.__class__ is Cut:
            return fn
        if fn is not None:
            return UNRECORDED.cut
    return None


def mark_cut(tensor: Tensor, source: Tensor, kind: str, how: str) -> None:
    """Remember what made a tensor without the history of its source, and on which line, for the error that may come of it."""
    fn = source._fn
    if fn is None:
        return
    if fn is LEAF or fn.direct or source.requires_grad:
        frame = user_frame(sys._getframe(2))
        cut: Cut | None = Cut(kind, how, frame.f_code, frame.f_lasti)
    else:
        cut = cut_of(source)
    if tensor._fn is None or tensor._fn.__class__ is Cut:
        tensor._fn = cut
    elif tensor._fn is LEAF and cut is not None:
        tensor.__dict__["_cut"] = cut


def locate_cut(tensor: Tensor) -> None:
    """Keep the line that is running with a cut that has none, that of an op without derivative."""
    cut = tensor._fn
    if cut.__class__ is Cut and cut.code is None and cut.kind == "no derivative":
        frame = user_frame(sys._getframe(2))
        tensor._fn = Cut(cut.kind, cut.how, frame.f_code, frame.f_lasti)


def cut_off(tensor: Tensor, kind: str, how: str) -> None:
    """Take a tensor its history, and remember what did it, on which line."""
    before, tensor._fn = tensor._fn, None
    if before is None:
        return
    frame = user_frame(sys._getframe(2))
    tensor._fn = cut = Cut(kind, how, frame.f_code, frame.f_lasti)
    if before.__class__ is Cut:
        cut.before = before.before
    elif before is not LEAF:
        counter = counter_of(tensor)
        cut.before = (id(before), counter.version)
        counter.stamp = tick()  # who has saved it looks again, see saved.py


@cache
def no_derivative(name: str) -> Cut:
    """The history of what an op without derivative computes from tensors that have one. (Its line is kept where it is made a float.)"""
    return Cut("no derivative", f"{name}()")


def unrecorded(tensor: Tensor) -> bool:
    """Whether a tensor has no history, and is no view of one that has: a write to it is not recorded, nor one that reads it."""
    fn = tensor._fn
    if fn.__class__ is View:
        fn = fn.base._fn if fn.node is None and fn.creation is ORDINARY else fn
    return fn is None or fn.__class__ is Cut


def set_requires_grad(tensor: Tensor, wanted: bool) -> None:
    """Make a tensor a leaf that gets a gradient, or one that does not."""
    if wanted == tensor.requires_grad and (not wanted or edge_of(tensor) is not NOWHERE):
        return
    if not wanted:
        if not tensor.is_leaf:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph "
                "that doesn't require differentiation use var_no_grad = var.detach()."
            )
        tensor._fn = None
        return
    dtype = tensor.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(
            f"only Tensors of floating point and complex dtype can require gradients (this one is {dtype})\n"
            "  fix: make it floating point first, for example x.float().requires_grad_()"
        )
    if tensor._vc is INFERENCE_TENSOR and not get_mode() & INFERENCE:
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    if tensor._fn.__class__ is Cut:
        tensor.__dict__["_cut"] = tensor._fn  # so that it can be told why nothing flows on from here
    tensor._fn = leaf_history(tensor)


def set_history(tensor: Tensor, node: Node | None, site: Site) -> None:
    """Record that `node` made the present value of `tensor`, which was written in place."""
    view = tensor._fn
    if not isinstance(view, View):
        before, tensor._fn = edge_of(tensor), node
        move_retained(tensor, before, node)
        return
    base = view.base
    edge = edge_of(base)
    _, others = split_own(node, node.next if node is not None else ())
    if edge is None and not others:
        return
    region = Region.of(view, tensor)
    if region is None:
        tensor._fn = node
        return
    base._fn = new_node(CopySlices, (edge, *others), (node, region), site)
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
    if get_mode() & SAVED_HOOKS:
        from .packed import before_write

        before_write(tensor)
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
        return
    if fn is LEAF:
        raise leaf_written(tensor, "a leaf Variable")
    if isinstance(fn, View):
        if fn.creation is not ORDINARY:
            raise refused(fn, "is being modified inplace")
        if fn.base.is_leaf and tensor.requires_grad:
            raise leaf_written(fn.base, "a view of a leaf Variable")


def leaf_written(leaf: Tensor, what: str) -> InplaceError:
    """The error for a recorded write to a leaf that requires grad, or to a part of it."""
    from .._site import here
    from .._source import called, simple_statement

    name, line = called(leaf, ""), simple_statement(here())
    copied = name.rpartition(".")[2] or "x"
    return InplaceError(
        f"{what} that requires grad is being used in an in-place operation.",
        fix=f"with torch.no_grad(): {line or 'around the write'}, to change {name or 'the leaf'} itself; to compute with other values, "
        f"write to a copy: {copied} = {name or copied}.clone()",
    )


def refused(view: View, happened: str) -> InplaceError:
    """The error for a write that reaches a view whose history cannot be made anew."""
    mode, when = ("inference", "in normal mode") if view.creation == INFERENCE_VIEW else ("no_grad", "with grad mode enabled")
    maker, nr = public_edge(view.node)
    if maker is None:
        start = f"A view was created in {mode} mode and {happened} {when}."
    else:
        start = f"Output {nr} of {maker.name().rsplit('Backward', 1)[0]} is a view"
        if view.creation in (NO_GRAD, INFERENCE_VIEW):
            start += f" of a view which was created in {mode} mode and {happened} {when}."
        else:
            start += f" and {happened}."
    if view.creation == SEVERAL:
        return InplaceError(
            f"{start} This view is the output of a function that returns multiple views. Such functions do not allow the output views to "
            "be modified inplace. You should replace the inplace operation by an out-of-place one.",
            fix="take the parts one by one, x[i] or x.narrow(dim, start, length): those may be written to",
        )
    if view.creation == CUSTOM:
        return InplaceError(
            f"{start} This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
            "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect gradients. "
            "This behavior is forbidden. You can fix this by cloning the output of the custom Function."
        )
    block = "inference_mode" if view.creation == INFERENCE_VIEW else "no_grad"
    return InplaceError(
        f"{start} Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
        f"view and the inplace either both inside the {block} block (if you don't want the inplace to be tracked) or both outside (if you "
        "want the inplace to be tracked)."
    )


def overlaps_itself(data: Any) -> bool:
    """Whether elements share memory, as those of an expanded tensor do. (NumPy gives empty arrays strides of zero.)"""
    return data.size > 1 and any(stride == 0 and size > 1 for stride, size in zip(data.strides, data.shape, strict=True))
