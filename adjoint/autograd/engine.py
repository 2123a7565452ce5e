"""The backward pass: one iterative engine for `backward`, `autograd.grad`, hooks and captures.

1. Count, for each node, the edges through which it will receive a gradient.
2. Deliver the gradients of the roots. A node is ready when all its edges have delivered; of the ready ones the latest made runs first.
3. A node turns the gradient of its output into those of its inputs; each is delivered along its edge. What arrives at a leaf is added
   to `.grad` as soon as the leaf is ready.

Gradients are plain arrays, nothing is recorded; under `create_graph` they are Tensors, and the same rules record themselves.

`deliver` does that and nothing else. What a pass may do besides stands beside it: hooks run, gradients that somebody asked for are captured
(Asked), and who follows the pass is told (a Watch, anomaly.py). Of the functions that tell it something stepping.py makes generators, which
stop there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar, copy_context
from heapq import heappop, heappush
from itertools import count
from threading import Thread
from typing import TYPE_CHECKING, Any, ClassVar

from numpy import ndarray

from .._errors import GraphFreedError
from .._quiet import mute, unmute
from .._site import Site
from .._state import GRAD, get_mode, reset_mode, set_mode
from .accumulate import accumulate, accumulate_recorded, add_by_numpy
from .node import LEAF, RECENT_CUTS, SAME, Edge, Freed, Node, Output

if TYPE_CHECKING:
    from .._tensor import Tensor
    from .anomaly import Watch

add_into: Callable[[Any, Any], Any] = add_by_numpy  # replaced by a kernel when there is one

PASSES_ON_ONE_STACK = 50  # how many backward passes, one started by the other, run in one thread
Target = Any  # a Node, or a leaf Tensor: where edges end


class Asked:
    """The gradients that somebody asked for, where that is not all: which, and the nodes that have to run for them."""

    __slots__ = ("into_grad", "needed", "results", "wanted")

    def __init__(self, edges: Sequence[Edge], roots: Sequence[Edge], into_grad: bool) -> None:
        self.into_grad = into_grad  # whether those of leaves are added to `.grad` instead of being returned
        self.results: list[Any] = [None] * len(edges)
        self.wanted: dict[Target, list[tuple[int, int]]] = {}  # target -> (output number, place in the results)
        for place, edge in enumerate(edges):
            nr = edge.nr if edge.__class__ is Output else 0
            self.wanted.setdefault(target_of(edge), []).append((nr, place))
        self.needed = leading_to(set(self.wanted), roots)

    def capture(self, target: Target, g: Any) -> None:
        for nr, place in self.wanted[target]:
            self.results[place] = g[nr] if isinstance(g, list) else g


class Task:
    """A backward pass that is running: its number, what to call when it has finished, and what it does besides."""

    __slots__ = ("asked", "callbacks", "deliveries", "depth", "serial", "watch")
    deliveries: dict[Target, Delivery]  # to whom gradients will come
    _serials = count()
    latest: ClassVar[int] = -1  # the number of the pass that was begun last

    def __init__(self, watch: Watch | None, asked: Asked | None, outer: Task | None) -> None:
        self.depth: int = 1 if outer is None else outer.depth + 1  # how many passes are running, one started by the other
        self.watch = watch  # who follows it, in anomaly mode for instance
        self.asked = asked  # None if all gradients are computed, and added to `.grad`
        self.serial = Task.latest = next(self._serials)
        RECENT_CUTS.append(None)
        self.callbacks: list[Callable[[], None]] = []


_task: ContextVar[Task | None] = ContextVar("adjoint_backward", default=None)


def queue_callback(callback: Callable[[], None]) -> None:
    """Call `callback` when the backward pass that is running now has finished."""
    task = _task.get()
    if task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    task.callbacks.append(callback)


def graph_task_id() -> int:
    """The number of the backward pass that is running in this thread; -1 if there is none."""
    task = _task.get()
    return -1 if task is None else task.serial


def computes_all_gradients() -> bool:
    """Whether the backward pass of this thread goes to all leaves, not only to those that somebody asked for."""
    task = _task.get()
    return task is None or task.asked is None


def passes_begun() -> bool:
    """Whether any backward pass was begun so far."""
    return Task.latest >= 0


def node_running() -> Node | None:
    """The node that the backward pass of this thread is running, as far as anomaly mode follows it."""
    task = _task.get()
    return task.watch.node if task is not None and task.watch is not None else None


def task_now() -> Task | None:
    """The backward pass that is running in this thread."""
    return _task.get()


def deliveries_now() -> dict[Target, Delivery]:
    """To whom gradients come in the backward pass that is running in this thread."""
    task = _task.get()
    assert task is not None
    return task.deliveries


def will_run(target: Target) -> bool:
    """Whether a gradient will come to a node or leaf in the backward pass of this thread."""
    task = _task.get()
    assert task is not None
    if task.asked is not None and not task.asked.into_grad and not isinstance(target, Node):
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is currently not "
            "supported.\n  fix: call backward(), or register the hook on results only"
        )
    return target in task.deliveries


def target_of(edge: Edge) -> Target:
    return edge.node if edge.__class__ is Output else edge


def reachable(roots: Sequence[Edge]) -> list[Node]:
    """All nodes from which gradients will come, in no particular order."""
    stack = [target_of(edge) for edge in roots]
    seen = set(stack)
    nodes = []
    while stack:
        node = stack.pop()
        if isinstance(node, Node):
            nodes.append(node)
            for edge in node.next:
                target = target_of(edge)
                if target is not None and target not in seen:
                    seen.add(target)
                    stack.append(target)
    return nodes


def leading_to(wanted: set[Target], roots: Sequence[Edge]) -> set[Target]:
    """The nodes that have to run so that gradients arrive at `wanted`."""
    needed: set[Target] = set()
    # In the order of their making every node comes after those it points to, so one sweep decides them all.
    for node in sorted(reachable(roots), key=lambda node: node.seq):
        for edge in node.next:
            target = target_of(edge)
            if target in wanted or target in needed:
                needed.add(node)
                break
    return needed


# Note [Deliveries]
# What the engine knows about a target while it runs: `[edges still to deliver, gradient so far, target, whether the gradient is ours]`. A
# gradient is ours when it is a sum made here: then more can be added in place. For a node with several outputs it is a list of gradients.
# A plain list, because it is read several times for each edge of the graph and its items are the fastest thing to read.
Delivery = list[Any]


def expected(roots: Sequence[Edge], asked: Asked | None) -> dict[Target, Delivery]:
    """The deliveries that will be made to each node and leaf."""
    needed, wanted = (None, ()) if asked is None else (asked.needed, asked.wanted)
    deliveries: dict[Target, Delivery] = {}
    stack: list[Node] = []
    edges = roots
    while True:
        for target in edges:
            if target in deliveries:
                deliveries[target][0] += 1
                continue
            if target.__class__ is Output:
                target = target.node
                if target in deliveries:
                    deliveries[target][0] += 1
                    continue
            if needed is None:
                if target is not None:
                    deliveries[target] = [1, None, target, False]
                    if isinstance(target, Node):
                        stack.append(target)
            elif target in needed or target in wanted:
                deliveries[target] = [1, None, target, False]
                if target in needed:
                    stack.append(target)
        if not stack:
            return deliveries
        edges = stack.pop().next


def run(
    roots: Sequence[Edge],
    gradients: Sequence[Any],
    *,
    keep_graph: bool,
    create_graph: bool,
    site: Site,
    as_tensors: bool = False,
    captured: Sequence[Edge] | None = None,
    into_grad: bool = False,
    anomaly: Watch | None = None,
) -> list[Any]:
    """Differentiate. With `captured`, compute only what leads there and return the gradients that arrive, or add them to `.grad`.
    `as_tensors`: gradients are Tensors even if they are not recorded, because they hold something else than arrays."""
    task = Task(anomaly, None if captured is None else Asked(captured, roots, into_grad), _task.get())
    pass_ = follow if task.depth % PASSES_ON_ONE_STACK else on_a_new_stack
    return pass_(task, roots, gradients, keep_graph, create_graph, as_tensors, site)


def on_a_new_stack(*args: Any) -> list[Any]:
    """The pass in a thread of its own. Custom functions start passes inside passes, and Python limits the depth of calls per thread."""
    results: list[list[Any]] = []
    errors: list[BaseException] = []
    context = copy_context()

    def work() -> None:
        try:
            results.append(context.run(follow, *args))
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=work)
    thread.start()
    thread.join()
    if errors:
        raise errors.pop()
    return results[0]


def follow(
    task: Task,
    roots: Sequence[Edge],
    gradients: Sequence[Any],
    keep_graph: bool,
    create_graph: bool,
    as_tensors: bool,
    site: Site,
) -> list[Any]:
    """Follow the edges from the roots to the leaves, in the mode that rules run in. Returns what somebody asked for."""
    watch = task.watch
    task.deliveries = expected(roots, task.asked)
    freed = None if keep_graph else Freed(site)
    mode = get_mode()
    moded = set_mode(mode | GRAD if create_graph else mode & ~GRAD)
    running = _task.set(task)
    muted = mute()
    try:
        if watch is not None:
            watch.begin(roots, gradients, keep_graph)
        if not task.deliveries and len(roots) == 1:
            _run_hooks_of_root(roots[0], gradients[0])
        deliver(task, roots, gradients, create_graph or as_tensors, freed, site)
        if watch is not None:
            watch.end()
        for callback in task.callbacks:
            callback()
        return [] if task.asked is None else task.asked.results
    finally:
        unmute(muted)
        _task.reset(running)
        reset_mode(moded)


def deliver(
    task: Task, edges: Sequence[Edge], grads: Sequence[Any], create_graph: bool, freed: Freed | None, site: Site
) -> None:
    """Deliver gradients along edges, and run whatever is ready then, until there is nothing left to do."""
    deliveries = task.deliveries
    ready: list[tuple[int, Delivery]] = []  # a heap; the latest node first
    plain = task.asked is None and task.watch is None
    node: Any = None
    g: Any = None
    try:
        while True:
            following = None
            for target, grad in zip(edges, grads):  # noqa: B905  (strict=True costs 0.1 µs a node)
                delivery = deliveries.get(target)
                if delivery is None:
                    if target.__class__ is not Output or target.node not in deliveries:
                        continue  # nobody asked for this one
                    delivery = deliveries[target.node]
                    if grad is not None:
                        _deliver_output(delivery, target.nr, grad)
                elif grad is not None:
                    present = delivery[1]
                    if present is None:
                        delivery[1] = grad
                    elif delivery[3]:
                        add_into(present, grad)
                    else:
                        delivery[1] = total = present + grad
                        delivery[3] = total.__class__ is ndarray
                if delivery[0] != 1:
                    delivery[0] -= 1
                elif not isinstance(delivery[2], Node):
                    # Rules of ops return new arrays, or the gradient itself; users may return what they also keep.
                    fresh = delivery[3] or (
                        delivery[1] is grad and grad is not g and node is not None and node.op is not None and node.hooks is None
                    )
                    if plain:
                        _finish_leaf(target, delivery[1], fresh, create_graph, site)
                    else:
                        _finish_beside(task, target, delivery[1], fresh, create_graph, site)
                elif following is None and not ready:
                    following = delivery
                else:
                    if following is not None:
                        heappush(ready, (-following[2].seq, following))
                        following = None
                    heappush(ready, (-delivery[2].seq, delivery))
            if following is None:
                if not ready:
                    return
                following = heappop(ready)[1]
            _, g, node, _ = following
            following[1] = None
            edges = node.next
            if node.hooks is not None or not plain:
                grads = _run_beside(task, node, g, create_graph, freed)
                continue
            if g is None and not node.takes_undefined:
                grads = (None,) * len(edges)
            else:
                grads = node.apply_recorded(g) if create_graph else node.apply(g)
            if freed is not None and node.keeps_tensors:
                node.saved = freed
    except Exception as error:
        if task.watch is not None:
            task.watch.fail(node)
        if isinstance(error, GraphFreedError):
            raise _freed_error(node, error, site) from None
        if isinstance(node, Node) and node.site not in getattr(error, "sites", {}).values():
            error.add_note(f"adjoint: in the backward of {node.name()}, recorded at {node.site}")
        raise


# ---- beside the loop ----------------------------------------------------------------------------------------------------------------


def _run_beside(task: Task, node: Any, g: Any, create_graph: bool, freed: Freed | None) -> Sequence[Any]:
    """Run a node with hooks, or in a pass that captures gradients or is followed. Returns nothing if it does not have to run."""
    watch, asked, hooks = task.watch, task.asked, node.hooks
    if asked is not None and node in asked.wanted and node in asked.needed:
        asked.capture(node, g)  # before the hooks, which is PyTorch's order where the node has to run as well
        if watch is not None:
            watch.capture(node, g)
    if hooks is not None:
        if watch is not None:
            watch.arrive(node, g)
        g = _run_tensor_hooks(node, g, create_graph)
    if asked is not None and node not in asked.needed:
        asked.capture(node, g)
        if watch is not None:
            watch.capture(node, g)
        if asked.into_grad:
            _run_for_nothing(node, g, create_graph, freed)
        return ()
    if watch is not None:
        watch.enter(node, g)
    if hooks is not None and (hooks.pre or hooks.post):
        grads = _apply_with_hooks(node, g, create_graph, None if asked is None else task.deliveries)
    else:
        grads = _apply_needed(node, g, create_graph, None if asked is None else task.deliveries)
    if watch is not None:
        watch.leave(node, grads, g)
    if freed is not None and node.keeps_tensors:
        node.saved = freed
    return grads


def _finish_beside(task: Task, leaf: Tensor, g: Any, fresh: bool, create_graph: bool, site: Site) -> None:
    """A leaf is ready, in a pass that captures gradients or is followed."""
    watch, asked = task.watch, task.asked
    if watch is not None:
        watch.arrive(leaf, g)
    if asked is None or asked.into_grad:
        total = _finish_leaf(leaf, g, fresh, create_graph, site)
    else:
        total = _leaf_hooked(leaf, g, create_graph)
        asked.capture(leaf, total)
    if watch is not None:
        watch.finish(leaf, total, asked is None or asked.into_grad)


def _apply_needed(node: Any, g: Any, create_graph: bool, asked: dict[Target, Delivery] | None) -> tuple[Any, ...]:
    """The gradients of the inputs; None for those that lead nowhere where somebody asked for one."""
    if g is None and not node.takes_undefined:
        return (None,) * len(node.next)
    if asked is not None and node.applied_partly is not None:
        wanted = tuple([target_of(edge) in asked for edge in node.next])
        if not all(wanted):
            return node.applied_partly((wanted, create_graph))(node, g)  # type: ignore[no-any-return]
    return node.apply_recorded(g) if create_graph else node.apply(g)  # type: ignore[no-any-return]


def _deliver_output(delivery: Delivery, nr: int, grad: Any) -> None:
    if delivery[1] is None:
        delivery[1] = [None] * delivery[2].outputs
    present = delivery[1][nr]
    delivery[1][nr] = grad if present is None else present + grad


def as_tensor(gradient: Any) -> Any:
    """A gradient as hooks and users see it."""
    from .._tensor import Tensor, wrap_result

    return gradient if gradient is None or isinstance(gradient, Tensor) else wrap_result(gradient)


def _plain(gradient: Any, create_graph: bool) -> Any:
    return gradient if gradient is None or create_graph else gradient._data


def _outputs(node: Node, g: Any) -> tuple[Any, ...]:
    """The gradients of all outputs of a node as Tensors."""
    if node.outputs is None:
        return (as_tensor(g),)
    return tuple(map(as_tensor, g if g is not None else [None] * node.outputs))


def _inputs(node: Node, gradients: tuple[Any, ...], create_graph: bool) -> Any:
    plain = [_plain(gradient, create_graph) for gradient in gradients]
    if node.outputs is None:
        return plain[0]
    return plain if any(gradient is not None for gradient in plain) else None


def _run_hooks_of_root(edge: Edge, g: Any) -> None:
    """As in PyTorch, the hooks of a result that is differentiated alone run even if it leads to nothing that was asked for."""
    target = target_of(edge)
    hooks = target.hooks if isinstance(target, Node) else target._hooks
    if hooks is not None:
        hooks.run_tensor(edge.nr if isinstance(edge, Output) else 0, as_tensor(g))


def _run_tensor_hooks(node: Node, g: Any, create_graph: bool) -> Any:
    hooks = node.hooks
    assert hooks is not None
    if not hooks.tensor and not hooks.retained:
        return g
    gradients = list(_outputs(node, g))
    for nr in dict.fromkeys((*hooks.tensor, *hooks.retained)):
        gradients[nr] = hooks.run_tensor(nr, gradients[nr])
    return _inputs(node, tuple(gradients), create_graph)


def _apply_with_hooks(node: Any, g: Any, create_graph: bool, asked: dict[Target, Delivery] | None) -> tuple[Any, ...]:
    """The gradients of the inputs after the node's hooks, which see only those that were asked for."""
    hooks = node.hooks
    assert hooks is not None
    outputs = _outputs(node, g)
    if hooks.pre:
        outputs = hooks.run_pre(outputs)
        g = _inputs(node, outputs, create_graph)
    grads = _apply_needed(node, g, create_graph, asked)
    if hooks.post:
        edges = zip(node.next, grads, strict=True)
        changed = hooks.run_post(node.in_public_order([None if edge is None else as_tensor(grad) for edge, grad in edges]), outputs)
        places = node.public_places()
        grads = tuple(_plain(changed[place], create_graph) for place in places)
    return grads


def _run_for_nothing(node: Node, g: Any, create_graph: bool, freed: Freed | None) -> None:
    """`backward(inputs=...)` names the result of a node: as in PyTorch its hooks run, and so does a custom backward, though what comes of
    it goes nowhere."""
    hooks = node.hooks
    outputs = _outputs(node, g)
    if hooks is not None and hooks.pre:
        outputs = hooks.run_pre(outputs)
    made = node.apply_recorded(_inputs(node, outputs, True)) if node.takes_undefined else (None,) * len(node.next)
    if hooks is not None and hooks.post:
        hooks.run_post(node.in_public_order(made), outputs)
    if freed is not None and node.keeps_tensors:
        node.saved = freed


def _leaf_hooked(leaf: Tensor, gradient: Any, create_graph: bool) -> Any:
    """The gradient of a leaf after the hooks of the tensor."""
    hooks = leaf._hooks
    if hooks is None or not hooks.tensor:
        return gradient
    return _plain(hooks.run_tensor(0, as_tensor(gradient)), create_graph)


def _finish_leaf(leaf: Tensor, gradient: Any, owned: bool, create_graph: bool, site: Site) -> Any:
    """All gradients of a leaf have arrived: add them to `.grad`. Returns what was added."""
    hooks = leaf._hooks
    if hooks is not None:
        owned = owned and not hooks.tensor and not hooks.pre  # which may have kept what they were given
        gradient = _leaf_hooked(leaf, gradient, create_graph)
        if hooks.pre:
            gradient = _plain(hooks.run_pre((as_tensor(gradient),))[0], create_graph)
        if gradient is not None and leaf._grad_dtype not in (None, SAME):
            gradient = _plain(as_tensor(gradient).to(leaf._grad_dtype), create_graph)
    if gradient is not None and (leaf._fn is LEAF or leaf.requires_grad):  # which may have been turned off since
        if create_graph:
            accumulate_recorded(leaf, gradient)
        else:
            accumulate(leaf, gradient, owned, site)
    if hooks is not None:
        if hooks.post_accumulate:
            hooks.run_post_accumulate(leaf)
        if hooks.post:
            hooks.run_post((), (as_tensor(gradient),))
    return gradient


def repair_in_loop(recorded: Site, now: Site) -> str:
    """What to do about a line that runs backward a second time on what was recorded the first time."""
    from .._source import carried_by, is_before_loop

    if states := carried_by(recorded):
        cut = f"{', '.join(states)} = {', '.join(f'{state}.detach()' for state in states)}"
        return f"cut off the state that line {recorded.line} carries over: {cut}"
    if is_before_loop(recorded, now):
        return f"line {recorded.line} runs once, before the loop: compute it again inside the loop"
    return (
        "the same line ran before on this graph: compute the loss again inside the loop, or .detach() the state that is carried "
        "from one iteration to the next"
    )


def _freed_error(node: Node, error: GraphFreedError, site: Site) -> GraphFreedError:
    """Which part of the graph was freed, by which call, and which of the usual three mistakes it looks like."""
    message = str(error).split("\n", 1)[0]
    sites = {"recorded": node.site, **error.sites, "now": site}
    first = error.sites.get("freed")
    if first is not None and (first.code, first.line) == (site.code, site.line):
        fix = repair_in_loop(node.site, site)
    else:
        where = f" on line {first.line}" if first is not None else ""
        fix = f"sum the losses and call backward() once, or pass retain_graph=True to the first backward{where}"
    return GraphFreedError(f"{message} (at {node.name()})", sites, fix)
