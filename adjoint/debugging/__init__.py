"""The debugger: steps through a backward pass, forth and back.

    breakpoints   where to stop, read from text
    plan          the nodes and leaves of a pass in the order in which it comes to them, their names, and what going back costs
    session       the debugger itself: a pass, where it stands, and what can be done there; it knows nothing of who asks
    values        the values of a graph, as far as they were kept or can be computed again
    differences   a node compared with finite differences
    terminal      the session in a terminal or a notebook
    page          the session as a trace, in the lab's page
    programs      every backward pass of a program
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from .._site import user_frame
from ..autograd.stepping import steps
from .session import Session
from .terminal import Terminal

__all__ = ["Session", "debug"]


def debug(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
    *,
    breakpoints: Sequence[str] = (),
    commands: Sequence[str] = (),
    page: bool = False,
) -> None:
    """`backward`, in the debugger: it stops at the first node, or with breakpoints at the first that matches, and reads commands.

    `commands` are obeyed before those that are typed. With `page`, they are typed into the lab's page, which shows the pass.

    >>> import adjoint as ad
    >>> x = ad.tensor(2.0, requires_grad=True)
    >>> ad.debug(x**2 + 3 * x, breakpoints=["node:MulBackward0"], commands=["set g * 10", "continue"])  # doctest: +ELLIPSIS
    backward() at ...
    3 nodes and 1 leaf; to go back, about 44 bytes are kept
    stopped by 1, node:MulBackward0
    [2/4] MulBackward0 ...
      given  1
    (debug) set g * 10
      given  10, edited
    (debug) continue
    >>> x.grad
    tensor(34.)
    """
    frame = user_frame(sys._getframe(1))
    made = steps(tensors, grad_tensors, retain_graph, create_graph, inputs)
    session = Session(made, frame, breakpoints)
    if page:
        from .page import PageTerminal

        return PageTerminal(session, commands).run()
    Terminal(session, commands).run()
