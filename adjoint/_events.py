"""Who is told of what a program does: the doctor listens here.

Ops are shown by a bit of the mode (`OBSERVE`), modules and optimizer steps by the hooks that users have too. This is for the rest: calls that
are rare beside ops. While nobody listens, each of these places asks one empty list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Channel(list[Callable[..., None]]):
    """Those who want to be told of one kind of event."""

    __slots__ = ()

    def tell(self, *facts: Any) -> None:
        for listener in tuple(self):
            listener(*facts)


OP = Channel()  # (op, args, keywords, result) after an op ran under OBSERVE
BACKWARD = Channel()  # (roots, inputs, create_graph) before a backward pass that adds to `.grad`
BACKWARD_DONE = Channel()  # (roots,) after it
GRAD_DONE = Channel()  # (outputs, inputs, results, create_graph) after `autograd.grad`
OPTIMIZER_MADE = Channel()  # (optimizer,)
ZERO_GRAD = Channel()  # (optimizer or module, its parameters) before gradients are dropped
CLIP = Channel()  # (parameters, max_norm, total_norm) before gradients are clipped; the norm is None where values are cut off
SCHEDULER_STEP = Channel()  # (scheduler,) when it has set learning rates
FUNCTION = Channel()  # (class, args, kwargs, outputs) after a custom function was applied
MODULE_MADE = Channel()  # (module,) while it is made
LOADER_MADE = Channel()  # (loader,)
BATCH = Channel()  # (loader, batch) before the program gets it
UNRECORDED = Channel()  # () when the program turns recording off
TRAIN_MODE = Channel()  # (module, mode) at the call of `train` or `eval`
