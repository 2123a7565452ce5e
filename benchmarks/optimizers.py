"""Optimizer steps and clipping over many parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._timing import Step, timed


def parameters(lib: Any, tensors: int, size: int) -> list[Any]:
    lib.manual_seed(0)
    made = [lib.nn.Parameter(lib.randn(size)) for _ in range(tensors)]
    for p in made:
        p.grad = lib.randn(size)
    return made


OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 1e-3}, "SGD with momentum": {"lr": 1e-3, "momentum": 0.9}, "Adam": {}, "AdamW": {},
    "Adam with amsgrad": {"amsgrad": True}, "NAdam": {}, "RAdam": {}, "Adamax": {}, "Adadelta": {}, "Adagrad": {}, "RMSprop": {},
    "Rprop": {}, "ASGD": {},
}  # fmt: skip


def stepping(name: str, tensors: int, size: int) -> Callable[[Any], Step]:
    def build(lib: Any) -> Step:
        optimizer = getattr(lib.optim, name.split(maxsplit=1)[0])(parameters(lib, tensors, size), **OPTIMIZERS[name])
        return optimizer.step  # type: ignore[no-any-return]

    return build


for _tensors, _size, _label in ((100, 40_000, "4M parameters in 100 tensors"), (10, 64, "640 parameters in 10 tensors")):
    for _name in OPTIMIZERS:
        timed(f"{_name} over {_label}")(stepping(_name, _tensors, _size))


def clipping(tensors: int, size: int) -> Callable[[Any], Step]:
    def build(lib: Any) -> Step:
        held = parameters(lib, tensors, size)
        return lambda: lib.nn.utils.clip_grad_norm_(held, 1.0)

    return build


timed("clip_grad_norm_ over 4M parameters in 100 tensors")(clipping(100, 40_000))
timed("clip_grad_norm_ over 640 parameters in 10 tensors")(clipping(10, 64))
