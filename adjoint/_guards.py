"""What is used of PyTorch's `torch._guards`: what its compiler is doing. Nothing is compiled here."""

from __future__ import annotations

from typing import Any


class TracingContext:
    """What is known while a function is compiled."""

    @staticmethod
    def try_get() -> None:
        """None: nothing is being compiled."""

    @staticmethod
    def get() -> TracingContext:
        raise RuntimeError("TracingContext.get() must be called within an ongoing trace: adjoint compiles nothing")


class CompileContext(TracingContext):
    """What is known while a program is compiled."""


def active_fake_mode() -> Any:
    """The `FakeTensorMode` that the program is in, or None."""
    from ._subclasses.fake_tensor import unset_fake_temporarily

    with unset_fake_temporarily() as mode:
        return mode


def detect_fake_mode(inputs: Any = None) -> Any:
    """The mode of the first fake tensor among the inputs, or the one that the program is in, or None."""
    from ._subclasses.fake_tensor import maybe_get_fake_mode
    from .utils._pytree import tree_leaves

    found = (maybe_get_fake_mode(leaf) for leaf in tree_leaves(inputs))
    return next((mode for mode in found if mode is not None), None) or active_fake_mode()
