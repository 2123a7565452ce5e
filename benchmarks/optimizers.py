"""Optimizer steps, and what else is done to all parameters or their gradients at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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


def treated(treat: Callable[[Any, list[Any]], Step], tensors: int, size: int) -> Callable[[Any], Step]:
    return lambda lib: treat(lib, parameters(lib, tensors, size))


def average(lib: Any, held: list[Any]) -> Step:
    model = lib.nn.ParameterList(held)
    averages = lib.optim.swa_utils
    averaged = averages.AveragedModel(model, multi_avg_fn=averages.get_ema_multi_avg_fn(0.999))
    averaged.update_parameters(model)
    return lambda: averaged.update_parameters(model)


TREATMENTS: dict[str, Callable[[Any, list[Any]], Step]] = {
    "clip_grad_norm_": lambda lib, held: lambda: lib.nn.utils.clip_grad_norm_(held, 1.0),
    "clip_grad_value_": lambda lib, held: lambda: lib.nn.utils.clip_grad_value_(held, 0.5),
    "zero_grad in place": lambda lib, held: partial(lib.optim.SGD(held, lr=0.1).zero_grad, set_to_none=False),
    "moving average": average,
}

for _tensors, _size, _label in ((100, 40_000, "4M parameters in 100 tensors"), (10, 64, "640 parameters in 10 tensors")):
    for _name, _treat in TREATMENTS.items():
        timed(f"{_name} over {_label}")(treated(_treat, _tensors, _size))
