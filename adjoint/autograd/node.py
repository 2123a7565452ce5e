"""The graph: nodes, the edges between them, and what a node keeps for backward.

Note [Edges]
`Tensor._fn` says where the gradient of a tensor goes. It is one of

    None      no gradient is required
    Node      the node that made the tensor (its only output)
    Output    output number `nr` of a node with several outputs
    LEAF      a leaf: the gradient ends in the tensor itself
    Cut       no gradient is required, because the history was cut off; it says by what and on which line
    View      a view: its history follows that of its base, so it has to be asked (views.py)

`Node.next` holds edges in resolved form: a Node, an Output, or the leaf Tensor itself. A graph therefore keeps its leaves alive, a leaf
keeps nothing alive, and there is no cycle. PyTorch's AccumulateGrad node is made only when somebody looks for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import ref

import numpy as np

from .._errors import GraphFreedError
from .._site import Site
from .._state import ANOMALY, get_mode, tick

if TYPE_CHECKING:
    from types import CodeType

    from .._tensor import Tensor
    from ..ops._registry import Op
    from .hooks import NodeHooks

Edge = Any  # Node | Output | Tensor | None; see Note [Edges]

NAMES_WITH_A_SCOPE = ("CopyBackwards", "Identity", "NotImplemented")  # PyTorch writes torch::autograd:: before these


class VersionCounter:
    """Counts the in-place writes to a piece of memory; shared by all tensors that look at it.

    `stamp` is the clock at the last write (or `detach_`), `writes` the last few of them with the lines that did it.
    """

    __slots__ = ("stamp", "version", "writes")
    KEPT = 4  # how many writes, at least, are remembered with their lines

    stamp: int
    version: int
    writes: list[tuple[int, tuple[CodeType, int]]]

    def __init__(self) -> None:
        self.stamp = 0
        self.version = 0
        self.writes = []

    def bump(self, site: tuple[CodeType, int]) -> None:
        """Count a write by the line of a Site (or what one consists of)."""
        self.version += 1
        self.stamp = stamp = tick()
        writes = self.writes
        writes.append((stamp, site))
        if len(writes) > 2 * self.KEPT:
            del writes[: self.KEPT]

    def version_at(self, stamp: int) -> int:
        """The version at an earlier time (a lower bound if more writes followed than are remembered)."""
        return self.version - sum(when > stamp for when, _ in self.writes)

    def written_after(self, stamp: int) -> bool:
        return bool(self.writes) and self.writes[-1][0] > stamp

    def first_write_after(self, stamp: int) -> Site | None:
        return next((site if isinstance(site, Site) else Site(*site) for when, site in self.writes if when > stamp), None)


# Inference tensors have no version of their own: they all share this counter, by which they are known.
INFERENCE_TENSOR = VersionCounter()


class Leaf:
    """The history of a leaf that requires grad: its gradient ends in the tensor itself."""

    __slots__ = ()
    direct = False  # not an edge by itself; see Note [Edges]

    def resolve(self, tensor: Tensor) -> Edge:
        return tensor

    def required(self, tensor: Tensor) -> bool:
        return True


class InferenceLeaf(Leaf):
    """The history of an inference tensor that requires grad: that can be asked, but nothing is recorded of it."""

    __slots__ = ()

    def resolve(self, tensor: Tensor) -> Edge:
        return None


LEAF, INFERENCE_LEAF = Leaf(), InferenceLeaf()


def leaf_history(tensor: Tensor) -> Leaf:
    """The history that a tensor gets when it is made to require grad."""
    return INFERENCE_LEAF if tensor._vc is INFERENCE_TENSOR else LEAF


SAME: Any = "same"  # `grad_dtype` of a leaf whose gradient has the dtype of the leaf itself


class LeafAlias:
    """The history of a tensor that stands for a leaf: its gradient ends in that leaf."""

    __slots__ = ("leaf",)
    direct = False

    def __init__(self, leaf: Tensor) -> None:
        self.leaf = leaf

    def resolve(self, tensor: Tensor) -> Edge:
        return self.leaf

    def required(self, tensor: Tensor) -> bool:
        return True


class Nowhere:
    """The history of a view that requires grad with its base and was made when nothing was recorded. As an edge: the gradient is lost."""

    __slots__ = ()
    direct = False
    _fn = _hooks = None
    requires_grad = False  # as a target: nothing is added up there

    def resolve(self, tensor: Tensor) -> Edge:
        return self

    def required(self, tensor: Tensor) -> bool:
        return True

    def _leaf_hooks(self) -> NodeHooks:
        """Hooks are taken and never called."""
        from .hooks import NodeHooks

        return NodeHooks()


NOWHERE = Nowhere()


class Cut:
    """The history of a tensor whose history was cut off, and of all that is computed from it: what did it, and on which line.

    `kind` is the value of a Cause (causes.py), `how` names the call; `code` is None where the line was not kept. `before` is set where
    the tensor may have views that keep its history: the id of that history, and the version of the memory when it was cut off.
    """

    __slots__ = ("before", "code", "how", "kind", "offset")
    direct = False
    before: tuple[int, int] | None

    def __init__(self, kind: str, how: str, code: Any = None, offset: int = -1) -> None:
        self.kind = kind
        self.how = how
        self.code = code
        self.offset = offset
        self.before = None
        if code is not None and kind not in MOSTLY_HARMLESS:
            RECENT_CUTS.append(self)

    def resolve(self, tensor: Tensor) -> Edge:
        return None

    def required(self, tensor: Tensor) -> bool:
        return False

    @property
    def site(self) -> Site | None:
        return None if self.code is None else Site(self.code, self.offset)


MOSTLY_HARMLESS = ("kept on ctx", "no create_graph", "no_grad", "value taken")  # need not be in the way: most are for looking

# Where histories were cut off lately, with None where a backward pass began: it frees what its graph kept, and the cuts in that.
RECENT_CUTS: deque[Cut | None] = deque(maxlen=24)


# What custom functions returned None for lately, where a gradient was wanted: the node or leaf below, the function's name, and its line.
RETURNED_NONE: deque[tuple[ref[Any], str, Site]] = deque(maxlen=16)


def cuts_before_last_pass() -> list[Cut]:
    """The cuts since the last backward pass but one: those that can have kept the last one from coming somewhere."""
    found: list[Cut] = []
    passes = 0
    for cut in reversed(RECENT_CUTS):
        passes += cut is None
        if passes > 1:
            break
        found += [] if cut is None else [cut]
    return found[::-1]


class _Unrecorded:
    """What is computed now, while nothing is recorded, gets this cut: one for each block, with its line, since one for each operation
    would slow down every evaluation. Views have none; of theirs the last one is named."""

    __slots__ = ("cut", "last")

    def __init__(self) -> None:
        self.cut = self.last = Cut("no_grad", "no_grad()")


UNRECORDED = _Unrecorded()


class Freed:
    """Stands in a node for the saved values that a backward pass freed, and remembers which one it was."""

    __slots__ = ("site",)

    def __init__(self, site: Site) -> None:
        self.site = site

    def __iter__(self) -> Any:
        raise GraphFreedError(
            "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
            "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
            "Specify retain_graph=True if you need to backward through the graph a second time.",
            {"freed": self.site},
        )


class Node:
    """One recorded operation. Subclasses are made from the op registry (`ops/_codegen.py`), one for each way an op is differentiated."""

    __slots__ = ("__weakref__", "code", "hooks", "next", "offset", "restore", "saved", "seq")
    direct: ClassVar[bool] = True
    op: ClassVar[Op | None] = None
    input_slots: ClassVar[tuple[int, ...]] = ()  # which inputs of the op the edges in `next` belong to
    input_count: ClassVar[int] = 0
    shown: ClassVar[tuple[int, ...]] = ()  # the order in which `next_functions` has the inputs, where it is not theirs
    layout: ClassVar[tuple[str, ...]] = ()  # the names of what is in `saved`
    own_slot: ClassVar[int] = 0  # the input that an in-place form overwrites
    outputs: int | None = None  # number of outputs, None where there is just one
    keeps_tensors: ClassVar[bool] = True  # whether `saved` holds tensors, which a backward pass frees
    takes_undefined: ClassVar[bool] = False  # whether it runs even where no gradient arrived
    applied_partly: ClassVar[Callable[[tuple[tuple[bool, ...], bool]], Callable[..., Any]] | None] = None  # `apply` for some inputs only

    next: tuple[Edge, ...]
    saved: Any  # tuple of what backward needs, or Freed
    seq: int
    code: Any
    offset: int
    restore: tuple[tuple[tuple[int, ...], np.dtype[Any]] | None, ...] | None
    hooks: NodeHooks | None

    def apply(self, g: Any) -> tuple[Any, ...]:
        """The gradients of the inputs in `next`, as arrays, from that of the output."""
        raise NotImplementedError

    def apply_recorded(self, g: Any) -> tuple[Any, ...]:
        """The same on Tensors, so that the backward pass is itself recorded."""
        raise NotImplementedError

    @property
    def site(self) -> Site:
        return Site(self.code, self.offset)

    def name(self) -> str:
        """
        >>> import adjoint as ad
        >>> (ad.ones(2, requires_grad=True) * 2).grad_fn.name()
        'MulBackward0'
        """
        kind = type(self).__name__
        return f"torch::autograd::{kind}" if kind in NAMES_WITH_A_SCOPE else kind

    def __call__(self, *gradients: Any) -> Any:
        """The gradients of the inputs, as Tensors, from those of the outputs."""
        expected = 1 if self.outputs is None else self.outputs
        if len(gradients) != expected:
            raise TypeError(f"expected {expected} arguments, got {len(gradients)} instead")
        for place, gradient in enumerate(gradients):
            if gradient is not None and not hasattr(gradient, "_fn"):
                raise TypeError(f"argument {place} is not a Variable")
        full = self.in_public_order(self.apply_recorded(gradients[0] if self.outputs is None else list(gradients)))
        return full[0] if len(full) == 1 else full

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return self.in_public_order([public_edge(edge) for edge in self.next], (None, 0))

    def public_places(self) -> Sequence[int]:
        """Where users see what belongs to each edge of `next`."""
        slots = self.input_slots or range(len(self.next))
        return [self.shown.index(slot) for slot in slots] if self.shown else slots

    def in_public_order(self, found: Sequence[Any], missing: Any = None) -> tuple[Any, ...]:
        """What there is for each edge of `next`, in the order of PyTorch's `next_functions`, with `missing` for inputs without an edge."""
        full: list[Any] = [missing] * (len(self.shown) or self.input_count or len(self.next))
        for place, one in zip(self.public_places(), found, strict=True):
            full[place] = one
        return tuple(full)

    def _sequence_nr(self) -> int:
        """Where it comes among the nodes: later ones have higher numbers."""
        return self.seq

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def _repr_html_(self) -> str:
        """In a notebook: the graph that ends here."""
        from ..viz.graphs import graph_of

        return graph_of(self)._repr_html_()

    @property
    def metadata(self) -> dict[Any, Any]:
        return self._hooks().metadata

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad_inputs, grad_outputs)` after this node has run; it may return new `grad_inputs`."""
        return self._hooks().add_post(hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        """Call `hook(grad_outputs)` before this node runs; it may return new `grad_outputs`."""
        return self._hooks().add_pre(hook)

    def _hooks(self) -> NodeHooks:
        from .hooks import NodeHooks

        if self.hooks is None:
            self.hooks = NodeHooks()
        return self.hooks


class SeveralNode(Node):
    """A node with several outputs. The gradient that it gets is a list: one for each, None where none arrived."""

    __slots__ = ("outputs",)


class Output:
    """An edge to one output of a node that has several."""

    __slots__ = ("node", "nr")
    direct = True

    def __init__(self, node: Node, nr: int) -> None:
        self.node = node
        self.nr = nr


def public_edge(edge: Edge) -> tuple[Any, int]:
    """`(node, output number)` as PyTorch shows it."""
    if edge is None or edge is NOWHERE:
        return None, 0
    if isinstance(edge, Output):
        return edge.node, edge.nr
    if isinstance(edge, Node):
        return edge, 0
    from .accumulate import AccumulateGrad

    return AccumulateGrad.of(edge), 0


def new_node(cls: type[Node], edges: tuple[Edge, ...], saved: Any, site: Site) -> Node:
    """A node made outside the generated fast path."""
    node = cls.__new__(cls)
    node.next = edges
    node.saved = saved
    node.restore = None
    node.hooks = None
    node.code, node.offset = site
    node.seq = tick()
    if get_mode() & ANOMALY:
        from .anomaly import trace

        trace(node)
    return node
