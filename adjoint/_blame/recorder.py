"""`with ad.blame.recording():`: what blame needs to know after the fact, written down while the program runs.

Every operation is looked at once: where its result is not finite, a Step is kept, with ranges instead of values; backward passes are
followed by Births. So nothing is kept alive, no result changes, and the first bad step of a loop is known when its parameters are spoilt
already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any, Self
from weakref import WeakKeyDictionary, ref

import numpy as np

from .._sampling import fork_rng, set_rng_state
from .._site import here
from .._tensor import Tensor
from ..autograd import anomaly
from ..autograd.anomaly import Watch, array_of
from ..autograd.engine import reachable, target_of
from ..autograd.node import Edge, Node
from ..autograd.stepping import GradChange
from ..utils._python_dispatch import TorchDispatchMode
from .backward import Births
from .finding import Cause, Finding, kinds_of
from .report import from_births, from_step, names
from .steps import Step, births, given, is_row_of_parameter, step_of
from .values import leaves_of, maker_of, makers

DEEPEST = 1000  # steps on the way from a birth that are kept: a state that is spoilt once would keep those of a whole training
MOST = 16  # bad passes that are looked into: what is spoilt stays spoilt


class Observer(TorchDispatchMode):
    """Sees every operation, and keeps a Step for each whose result is not finite."""

    def __init__(self) -> None:
        self.clock = count()
        self.tensors: dict[int, tuple[ref[Tensor], Step]] = {}
        self.nodes: WeakKeyDictionary[Node, Step] = WeakKeyDictionary()

    def step_of(self, tensor: Tensor) -> Step | None:
        """The step that made a tensor what it is; of a view, the one that its base is of, if it has none of its own."""
        for one in (tensor, tensor._base):
            kept = None if one is None else self.tensors.get(id(one))
            if kept is not None and kept[0]() is one:
                return kept[1]
        return None

    def __torch_dispatch__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        op, shown = getattr(func, "declaration", None), str(func).split(".")[-2]
        name = getattr(op, "name", "") or shown
        operands = named_operands(op, args, kwargs or {})
        arrays = {role: plain(one) for role, one in operands.items()}
        if shown.endswith("_"):  # an in-place form is about to overwrite what it is given
            arrays = {role: None if value is None else np.array(value) for role, value in arrays.items()}
        before = {role: self.step_of(one) for role, one in operands.items() if isinstance(one, Tensor)}
        result = func(*args, **(kwargs or {}))
        for made in result if isinstance(result, tuple | list) else [result]:
            if isinstance(made, Tensor):
                self.notice(name, operands, arrays, before, made)
        return result

    def step_before(self, edge: Edge) -> Step | None:
        """The step of the node that an edge leads to."""
        node = target_of(edge)
        return self.nodes.get(node) if isinstance(node, Node) else None

    def forget(self, place: int, _: object) -> None:
        self.tensors.pop(place, None)

    def notice(self, op: str, operands: dict[str, Any], arrays: dict[str, Any], before: dict[str, Step | None], made: Tensor) -> None:
        array = array_of(made)
        if array is None or not kinds_of(array):
            self.tensors.pop(id(made), None)
            return
        now, site = next(self.clock), here()
        causes = []
        for role, value in arrays.items():
            if value is not None and kinds_of(value):
                causes.append(before.get(role) or given(role, operands[role], value, now, site))
        inputs = [one for one in operands.values() if isinstance(one, Tensor)]
        names_before = makers([maker_of(one) for one in inputs], 3)
        if any(cause.depth >= DEEPEST for cause in causes):
            found = [births([cause for cause in causes if cause.has(kind)], kind)[0] for kind in ("nan", "inf")]
            causes = [birth for some in found for birth in some]
        step = step_of(op, now, site, arrays, array, names_before, causes)
        step.depth = 1 + max((cause.depth for cause in causes), default=0)
        if any(is_row_of_parameter(one, array) for one in inputs):
            step.samples = ()
        for one in (made, made._base):  # who writes into a view writes into its base
            if one is not None:
                self.tensors[id(one)] = ref(one, partial(self.forget, id(one))), step
        if isinstance(node := target_of(maker_of(made)), Node):
            self.nodes[node] = step


def named_operands(op: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The operands of an op by name: tensors, those in its sequences, and numbers."""
    names = getattr(op, "args", ()) or [f"input {place}" for place in range(len(args))]
    found: dict[str, Any] = {}
    for name, value in (*zip(names, args, strict=False), *kwargs.items()):
        if isinstance(value, list | tuple) and any(isinstance(one, Tensor) for one in value):
            found |= {f"{name}[{place}]": one for place, one in enumerate(value) if isinstance(one, Tensor)}
        elif isinstance(value, Tensor | float | int) and not isinstance(value, bool) and name not in ("dim", "correction", "out", "value"):
            found[name] = value
    return found


def plain(operand: Any) -> Any:
    """An operand as an array; None where it holds none."""
    data = np.asarray(operand) if isinstance(operand, float | int) else getattr(operand, "_data", None)
    return data if isinstance(data, np.ndarray | np.generic) and data.dtype.kind in "fciubV" else array_of(operand)


class Followed(Births):
    """Follows a backward pass for a recording."""

    def __init__(self, roots: Sequence[Edge], record: recording) -> None:
        super().__init__(roots)
        self.record = record
        self.step = next((step for root in roots if (step := record.observer.step_before(root)) is not None), None)

    def arrive(self, target: Any, g: Any) -> None:
        if self.record.undoes and isinstance(target, Tensor):
            self.record.changes.append(GradChange(target))

    def end(self) -> None:
        self.record.conclude(self)


class Both(Watch):
    """Two who follow the same backward pass: a recording inside a profile."""

    def __init__(self, first: Watch, second: Watch) -> None:
        super().__init__(first.roots)
        for event in ("begin", "arrive", "capture", "enter", "leave", "finish", "end", "fail"):
            setattr(self, event, partial(self.tell, event, first, second))

    def tell(self, event: str, first: Watch, second: Watch, *facts: Any) -> None:
        for watch in (first, second):
            getattr(watch, event)(*facts)
        self.node = first.node


class recording:
    """While it is on, a loop is watched, so that `ad.blame` can answer after the fact: graphs that were freed, parameters that are spoilt.
    Results stay as they are to the last bit; every operation is looked at, which takes time.

    >>> import adjoint as ad
    >>> w = ad.tensor([1.0, 0.0], requires_grad=True)
    >>> with ad.blame.recording() as record:
    ...     for _ in range(3):
    ...         w.sqrt().sum().backward()
    >>> record.first.pattern, record.first_pass, ad.blame(w).op
    ('sqrt(0)', 0, 'sqrt')
    """

    def __init__(self) -> None:
        self.observer = Observer()
        self.first: Finding | None = None  # of the first backward pass that was bad
        self.first_pass = -1  # and which pass that was
        self.passes = 0  # how many there were,
        self.found = 0  # and how many of them were bad
        self.losses: WeakKeyDictionary[Node, Finding] = WeakKeyDictionary()
        self.leaves: dict[int, tuple[ref[Tensor], Finding]] = {}
        self.undoes = False  # whether gradients shall be as before, afterwards
        self.changes: list[GradChange] = []

    def __enter__(self) -> Self:
        global latest
        latest = self
        self.before = anomaly.timed
        anomaly.timed = self.watch
        self.observer.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.observer.__exit__()
        anomaly.timed = self.before
        for change in self.changes[::-1]:
            change.swap()
        self.changes.clear()

    def watch(self, roots: Sequence[Edge]) -> Watch:
        followed, other = Followed(roots, self), None if self.before is None else self.before(roots)
        return followed if other is None else Both(followed, other)

    def conclude(self, births: Followed) -> None:
        """A backward pass has ended."""
        self.passes += 1
        if self.found >= MOST:
            return
        if births.step is not None:
            leaves = leaves_of(reachable(births.roots))
            finding: Finding | None = from_step(births.step, "The loss", "nan" if births.step.nan else "inf", leaves)
            if finding is not None and not finding.parameters:
                finding.parameters = names(births.leaves)
        else:
            finding = from_births(births, self.observer.step_before) if births.leaves else None
        if finding is not None:
            self.remember(births.roots, finding)

    def remember(self, roots: Sequence[Edge], finding: Finding) -> None:
        self.found += 1
        if self.first is None:
            self.first, self.first_pass = finding, self.passes - 1
        for root in roots:
            if isinstance(node := target_of(root), Node):
                self.losses[node] = finding
        for leaf in leaves_of(reachable(roots)):
            self.leaves.setdefault(id(leaf), (ref(leaf), finding))  # the first tells why the later ones are bad


latest: recording | None = None  # that was begun last


def remembered(thing: Any) -> Finding | None:
    """What the latest recording knows of the root of a graph, of a leaf, or of a tensor without history."""
    if latest is None:
        return None
    if isinstance(node := target_of(thing), Node):
        if node in latest.losses:
            return latest.losses[node]
        step, leaves = latest.observer.step_before(node), leaves_of(reachable([node]))
    else:
        kept = latest.leaves.get(id(thing))
        if kept is not None and kept[0]() is thing:
            return kept[1]
        step, leaves = latest.observer.step_of(thing), []
    return None if step is None else from_step(step, "It", "nan" if step.nan else "inf", leaves)


def replay(compute: Callable[..., Any], *args: Any, rng_state: Tensor | None = None, **kwargs: Any) -> Finding:
    """Run a part of a program again and say what is to blame in it: a function that computes a loss, and may call `backward()`. Gradients
    and the random numbers that the program goes on with are left as they were; `rng_state` is the state to begin with. What else the
    function changes stays changed.

    >>> import adjoint as ad
    >>> x = ad.tensor([-1.0, 2.0], requires_grad=True)
    >>> ad.blame.replay(lambda: x.log().sum()).pattern
    'log of a negative number'
    """
    from .asking import answer

    with fork_rng(), recording() as record:
        record.undoes = True
        if rng_state is not None:
            set_rng_state(rng_state)
        result = compute(*args, **kwargs)
    if record.first is not None:
        return record.first
    if isinstance(result, Tensor):
        return answer(result)
    return Finding(Cause.FINITE, f"Nothing is to blame: the gradients of {record.passes} backward passes are finite.")
