"""A function and its operands, timed forward alone and with the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._timing import Step, timed

Case = tuple[Callable[..., Any], list[Any]]  # the function, and the tensors that it is called with
Build = Callable[[Any], Case]  # from the library module


def register(name: str, build: Build, *, backward: bool = True) -> None:
    """Register both passes; `backward=False` for what has no derivative."""

    @timed(f"{name}, forward")
    def forward(lib: Any) -> Step:
        fn, args = build(lib)
        return lambda: fn(*args)

    if not backward:
        return

    @timed(f"{name}, forward+backward")
    def both(lib: Any) -> Step:
        fn, args = build(lib)
        inputs = [arg.requires_grad_() for arg in args]
        result = fn(*inputs)
        several = isinstance(result, tuple | list)
        seeds = [lib.ones_like(out).detach() for out in (result if several else [result])]

        def step_of_one(seed: Any = seeds[0]) -> None:
            for x in inputs:
                x.grad = None
            fn(*inputs).backward(seed)

        def step_of_several() -> None:
            for x in inputs:
                x.grad = None
            lib.autograd.backward(fn(*inputs), seeds)

        return step_of_several if several else step_of_one
