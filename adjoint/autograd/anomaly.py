"""Anomaly mode: backward stops at the first gradient that is not a number, and says where it was born.

While it is on, every node remembers the whole way to the line that made it (`node.metadata["traceback_"]`), and which node was running if
a backward pass made it (`"parent_"`). While it is off it costs nothing: the mode is one of the bits that take an op off the fast path, and
the engine has no Watch to ask.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from .._errors import AnomalyError
from .._site import Site, is_user, user_frame, warn
from .._state import ANOMALY, swap_bits
from .node import Edge, Node

_enabled = False
_check_nan = True
timed: Callable[[Sequence[Edge]], Watch | None] | None = None  # follows backward passes instead, while a profiler runs


def is_anomaly_enabled() -> bool:
    return _enabled


def is_anomaly_check_nan_enabled() -> bool:
    return _check_nan


def _set(mode: bool, check_nan: bool) -> None:
    global _enabled, _check_nan
    _enabled, _check_nan = bool(mode), check_nan
    swap_bits(ANOMALY, ANOMALY if mode else 0)


class set_detect_anomaly:
    """Turns anomaly mode on or off at once; as a context manager, until the end of the block."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"set_anomaly_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}")
        self._before = _enabled, _check_nan
        _set(mode, check_nan)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _set(*self._before)


class detect_anomaly(set_detect_anomaly):
    """Anomaly mode for a block.

    >>> import adjoint as ad
    >>> import warnings
    >>> x = ad.zeros(1, requires_grad=True)
    >>> with warnings.catch_warnings(action="ignore"), ad.autograd.detect_anomaly():
    ...     try:
    ...         (x.sqrt() * 0).sum().backward()
    ...     except RuntimeError as error:
    ...         print(str(error).splitlines()[0])
    Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(_enabled, _check_nan)
        self._wanted = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> Self:
        self._before = _enabled, _check_nan
        _set(True, self._wanted)
        return self


# ---- forward: what a node remembers --------------------------------------------------------------------------------------------------


def trace(node: Node) -> None:
    """Keep with a new node the way to the line that made it, and the node whose backward made it."""
    import traceback

    from .engine import node_running

    frame = user_frame(sys._getframe(1))
    stack = [entry for entry in traceback.extract_stack(frame) if is_user(entry.filename)]
    node.metadata["traceback_"] = traceback.format_list(stack)
    parent = node_running()
    if parent is not None:
        node.metadata["parent_"] = parent


def metadata_of(node: Node) -> dict[Any, Any]:
    return {} if node.hooks is None else node.hooks.metadata


def generations(node: Node) -> Iterator[Node]:
    """A node, the node in whose backward it was made, and so on."""
    while True:
        yield node
        parent = metadata_of(node).get("parent_")
        if not isinstance(parent, Node):
            return
        node = parent


def warn_about(node: Node) -> None:
    """PyTorch's warnings: the forward trace of the node that failed, and of those that induced it."""
    for generation, found in enumerate(generations(node)):
        lines = metadata_of(found).get("traceback_")
        if lines is None:
            warn(
                f"Error detected in {found.name()}. No forward pass information available. Enable detect anomaly during forward pass "
                f"for more information. (The line itself is known: {found.site})"
            )
        elif generation == 0:
            warn(f"Error detected in {found.name()}. Traceback of forward call that caused the error:\n{''.join(lines)}")
        else:
            warn(
                f"\n\nPrevious calculation was induced by {found.name()}. Traceback of forward call that induced the previous "
                f"calculation:\n{''.join(lines)}"
            )


# ---- backward: what the engine tells --------------------------------------------------------------------------------------------------


def watch(roots: Sequence[Edge]) -> Watch | None:
    """What the engine tells about each node; None while anomaly mode is off and no profiler runs."""
    if timed is not None and (follower := timed(roots)) is not None:
        return follower
    return Watch(roots) if _enabled else None


class Watch:
    """Follows one backward pass. What these return is for who steps through it (stepping.py)."""

    def __init__(self, roots: Sequence[Edge]) -> None:
        self.roots = roots
        self.node: Node | None = None  # which is running
        self.first_inf: Node | None = None  # PyTorch lets infinities pass, so this is only told with a nan that follows

    def begin(self, roots: Sequence[Edge], gradients: Sequence[Any], keeps_graph: bool) -> Any:
        """The gradients of the roots are about to be delivered."""

    def arrive(self, target: Any, g: Any) -> Any:
        """A leaf, or a node with hooks, has received all that will come; hooks have not run yet."""

    def capture(self, node: Node, g: Any) -> Any:
        """Somebody asked for the gradient of a node's result."""

    def enter(self, node: Node, g: Any) -> Any:
        """A node is about to run."""
        self.node = node

    def finish(self, leaf: Any, g: Any, kept: bool) -> Any:
        """The gradient of a leaf was added to its `.grad`, or (not `kept`) captured."""

    def end(self) -> Any:
        """All gradients have been delivered."""

    def leave(self, node: Node, gradients: tuple[Any, ...], g: Any) -> Any:
        """A node has run; what it gave is about to be delivered."""
        self.node = None
        if not _check_nan:
            return
        for place, gradient in enumerate(gradients):
            data = array_of(gradient)
            if data is None or node.next[place] is None or np.isfinite(data).all():
                continue
            if np.isnan(data).any():
                raise self.error(node, place, data, g)
            self.first_inf = self.first_inf or node

    def fail(self, node: Any) -> None:
        """The node raised, or its gradient was refused."""
        self.node = None
        if isinstance(node, Node):
            warn_about(node)

    def error(self, node: Node, place: int, data: Any, g: Any) -> AnomalyError:
        from .nonfinite import examine

        case = examine(node, data, g, self.roots)
        slot = node.input_slots[place] if node.input_slots else place
        values = {"gradient that came in": case.incoming, **{f"its {name}": [value] for name, value in case.values.items()}}
        values["gradient that went out"] = [data]
        ranges = [f"  {role}: {', '.join(map(ranges_of, arrays)) or 'none'}" for role, arrays in values.items()]
        sites: dict[str, Site] = {"recorded": node.site}
        for generation, parent in enumerate(generations(node)):
            if generation:
                sites["recorded in the backward of " + parent.name()] = parent.site
        if self.first_inf is not None:
            sites[f"first inf, from {self.first_inf.name()}"] = self.first_inf.site
        if case.born is not None and case.born is not node:
            sites[f"first nan of the forward pass, met by {case.born.name()}"] = case.born.site
        pattern, fix = case.advice()
        error = AnomalyError(
            f"Function '{node.name()}' returned nan values in its {slot}th output.\n" + "\n".join(ranges), sites, fix
        )
        error.pattern = pattern
        return error


def array_of(gradient: Any) -> Any:
    """The array in a gradient, however deep; None where there is none to look at."""
    while hasattr(gradient, "_data"):
        gradient = gradient._data
    return gradient if isinstance(gradient, np.ndarray | np.generic) and gradient.dtype.kind in "fcV" else None


def ranges_of(array: Any) -> str:
    """
    >>> ranges_of(np.array([0.0, 1.0, np.inf]))
    'float64 [3] from 0 to 1, 1 zero, 1 inf'
    """
    data = np.asarray(array)
    if data.ndim == 0:
        return f"{data.dtype} {data.item():.4g}"
    values = data if data.dtype.kind in "fiub" else np.abs(data) if data.dtype.kind == "c" else data.astype(np.float64)
    finite = values[np.isfinite(values)]
    span = f" from {finite.min():.4g} to {finite.max():.4g}" if finite.size else " no finite values" if data.size else ""
    counts = {"zero": values == 0, "inf": np.isinf(values), "nan": np.isnan(values)}
    return f"{data.dtype} {list(data.shape)}{span}" + "".join(f", {int(n.sum())} {name}" for name, n in counts.items() if n.any())
