"""An optimizer that works on other parameters and other state for a while."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from .._tensor import Tensor
from .optimizer import Group, Optimizer

NAME = "swap_in_optimizer_params_and_state"


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Let an optimizer, which has taken a step, see other parameters (in its own order), and state and settings as in `state_dict()`.

    Tensors of the given state are changed in place; whatever else happens inside is forgotten.
    """
    state, groups = _checked(optimizer, swapin_parameters, swapin_optim_state)
    params = iter(swapin_parameters.values())
    before = optimizer.state, [dict(group) for group in optimizer.param_groups]
    swapped: defaultdict[Any, Any] = defaultdict(dict)
    try:
        for live, group in zip(optimizer.param_groups, groups, strict=True):
            live.update(group, params=[next(params) for _ in group["params"]])
            swapped.update(zip(live["params"], (dict(state.get(number, {})) for number in group["params"]), strict=True))
        optimizer.state = swapped
        yield
    finally:
        optimizer.state = before[0]
        for live, group in zip(optimizer.param_groups, before[1], strict=True):
            live.clear()
            live.update(group)


def _checked(optimizer: Optimizer, params: dict[str, Tensor], given: Any) -> tuple[dict[Any, Any], list[Group]]:
    """State and groups of what is given, if they fit the optimizer."""
    _require(optimizer.state, f"{NAME} requires initialized optimizer state.")
    _require(isinstance(given, dict), f"{NAME} requires a DCP-style optimizer state_dict.")
    state, groups = given.get("state"), given.get("param_groups")
    packed = f"{NAME} requires optimizer.state_dict()-style"
    _require(
        isinstance(state, dict),
        f"{NAME} requires swapin_optim_state['state'] to be a dict mapping packed parameter ids to per-param state dicts, "
        f"got {type(state).__name__}.",
    )
    _require(not any(isinstance(key, Tensor) for key in state), f"{packed} state keyed by packed parameter ids.")
    _require(
        all(isinstance(entry, dict) for key, entry in state.items() if isinstance(key, int)),
        f"{NAME} requires per-parameter optimizer state entries to be dictionaries.",
    )
    _require(
        isinstance(groups, list),
        f"{NAME} requires swapin_optim_state['param_groups'] to be a list of param-group dicts, got {type(groups).__name__}.",
    )
    _require(
        len(groups) == len(optimizer.param_groups),
        "swapin_optim_state has a different number of parameter groups than the live optimizer.",
    )
    for place, (live, group) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        _require(isinstance(group, dict), f"{NAME} requires each optimizer param group to be a dictionary.")
        numbers = group.get("params")
        _require(
            isinstance(numbers, list) and all(isinstance(number, int) for number in numbers),
            f"{packed} param_groups[*]['params'] entries keyed by packed parameter ids.",
        )
        _require(
            len(numbers) == len(live["params"]),
            f"swapin_optim_state param group {place} has a different number of params than the live optimizer param group.",
        )
        _require(
            group.keys() == live.keys(),
            f"{packed} param group keys to exactly match the live optimizer group keys for group {place}. "
            f"Keys only in swap-in: {[key for key in group if key not in live]}. "
            f"Keys only in live: {[key for key in live if key not in group]}.",
        )
    _require(
        sum(len(group["params"]) for group in groups) == len(params),
        f"{NAME} requires the explicit parameter state to match optimizer.param_groups ordering.",
    )
    known = set(chain.from_iterable(group["params"] for group in groups))
    extra = [key for key in state if key not in known]
    _require(
        not extra,
        f"{NAME} requires swapin_optim_state['state'] to be keyed only by packed parameter ids from param_groups[*]['params']; "
        f"got extra keys {extra!r}.",
    )
    return state, groups


def _require(holds: Any, otherwise: str) -> None:
    if not holds:
        raise RuntimeError(otherwise)
