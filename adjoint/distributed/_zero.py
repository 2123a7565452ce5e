"""An optimizer whose state is divided over processes: each steps the parameters that are its own, and sends them to the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from itertools import chain
from typing import Any

from .._creation import empty
from .._tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..optim import Optimizer
from ._groups import get_global_rank, require
from ._objects import gather_object
from ._replicas import broadcast_coalesced, verify
from .algorithms._join import Join, Joinable, JoinHook

_MESSAGE = 250 << 20  # bytes of parameters that are sent together


class _ZeroJoinHook(JoinHook):
    """Who has no inputs left steps no more, but receives the others' parameters and sends its own."""

    def __init__(self, zero: ZeroRedundancyOptimizer) -> None:
        self.zero = zero

    def main_hook(self) -> None:
        self.zero.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of `optimizer_class` for the parameters that are this process's own; all of them are in `param_groups`.

    `state_dict` is for the process that `consolidate_state_dict` has sent all parts of the state to.
    """

    def __init__(
        self, params: Any, optimizer_class: type[Optimizer], process_group: Any = None, parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False, **defaults: Any,
    ) -> None:  # fmt: skip
        if overlap_with_ddp:
            raise NotImplementedError("ZeroRedundancyOptimizer: adjoint steps when step() is called; write overlap_with_ddp=False")
        self.process_group = require(process_group)
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self._optim_constructor, self._optim_defaults = optimizer_class, defaults
        self.optim: Any = None
        self.initialized = False
        Optimizer.__init__(self, params, defaults)
        Joinable.__init__(self)
        verify(self.process_group, [(f"parameter {place}", one) for place, one in enumerate(self._all_params())])
        self._divide()
        self.initialized = True
        self._all_state_dicts: list[Any] = []

    # ---- who has what ---------------------------------------------------------------------------------------------------------------

    def _divide(self) -> None:
        """Give each process parameters of about the same size in all, the largest first; and make the optimizer of this one's."""
        load = [0] * self.world_size
        owner: dict[int, int] = {}
        for group in self.param_groups:
            for one in sorted(group["params"], key=lambda one: -one.numel()):
                if one.requires_grad:
                    rank = load.index(min(load))
                    load[rank] += one.numel()
                else:
                    rank = 0
                owner[id(one)] = rank
        self._owner = owner
        self._owned = [[one for one in self._all_params() if owner[id(one)] == rank] for rank in range(self.world_size)]
        parts = [{**group, "params": [one for one in group["params"] if owner[id(one)] == self.rank]} for group in self.param_groups]
        state = {} if self.optim is None else self.optim.state
        self.optim = self._optim_constructor(parts, **self._optim_defaults)
        for one, kept in state.items():
            if owner[id(one)] == self.rank:
                self.optim.state[one] = kept
        self.state = self.optim.state
        for group, part in zip(self.param_groups, self.optim.param_groups, strict=True):
            group.update({name: value for name, value in part.items() if name not in group})
        if self.parameters_as_bucket_view:
            self._buckets = [_as_views(owned) for owned in self._owned]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        if self.initialized:
            verify(self.process_group, [(f"parameter {place}", one) for place, one in enumerate(self._all_params())])
            self._divide()

    # ---- training -------------------------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Step the parameters that are this process's own, and receive the others."""
        Join.notify_join_context(self)
        self._copy_settings(self.param_groups, self.optim.param_groups)  # learning rates, say, which a scheduler has changed
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)
        self._copy_settings(self.optim.param_groups, self.param_groups)
        with no_grad():
            for rank in range(self.world_size):
                whole = self._buckets[rank] if self.parameters_as_bucket_view else self._owned[rank]
                broadcast_coalesced(self.process_group, whole, _MESSAGE, rank)
        return loss

    @staticmethod
    def _copy_settings(source: Any, target: Any) -> None:
        for one, other in zip(source, target, strict=True):
            other.update({name: value for name, value in one.items() if name != "params"})

    def join_hook(self, **kwargs: Any) -> JoinHook:
        return _ZeroJoinHook(self)

    @property
    def join_device(self) -> Any:
        return next(iter(self._all_params())).device

    @property
    def join_process_group(self) -> Any:
        return self.process_group

    # ---- the whole state ------------------------------------------------------------------------------------------------------------

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Send the state of all processes to process `to`."""
        self._copy_settings(self.param_groups, self.optim.param_groups)
        parts: list[Any] | None = [None] * self.world_size if self.rank == to else None
        gather_object(self.optim.state_dict(), parts, get_global_rank(self.process_group, to), self.process_group)
        self._all_state_dicts = parts or []

    def state_dict(self) -> dict[str, Any]:
        """The state of all parameters, as one optimizer for all of them would have it."""
        if not self._all_state_dicts:
            raise RuntimeError(
                f"Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to={self.rank})` on all "
                "ranks beforehand if you meant to save the global state."
            )
        numbers = {id(one): number for number, one in enumerate(self._all_params())}
        whole = super().state_dict()
        whole["state"] = {}
        for rank, part in enumerate(self._all_state_dicts):
            for group, local in zip(self.param_groups, part["param_groups"], strict=True):
                theirs = [one for one in group["params"] if self._owner[id(one)] == rank]
                for one, number in zip(theirs, local["params"], strict=True):
                    if number in part["state"]:
                        whole["state"][numbers[id(one)]] = part["state"][number]
        whole["state"] = dict(sorted(whole["state"].items()))
        return whole

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take settings, and of the state what belongs to this process's own parameters."""
        groups = state_dict["param_groups"]
        if [len(group["params"]) for group in groups] != [len(group["params"]) for group in self.param_groups]:
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        numbers = iter(chain.from_iterable(group["params"] for group in groups))
        by_parameter = {id(one): number for one, number in zip(self._all_params(), numbers, strict=True)}
        own = self.optim.state_dict()
        places = chain.from_iterable(group["params"] for group in own["param_groups"])
        mine = chain.from_iterable(group["params"] for group in self.optim.param_groups)
        state = {
            place: deepcopy(state_dict["state"][by_parameter[id(one)]])
            for place, one in zip(places, mine, strict=True)
            if by_parameter[id(one)] in state_dict["state"]
        }
        settings = [{**given, "params": here["params"]} for given, here in zip(groups, own["param_groups"], strict=True)]
        self.optim.load_state_dict({"state": state, "param_groups": settings})
        self.state = self.optim.state
        self._copy_settings(self.optim.param_groups, self.param_groups)


def _as_views(parameters: list[Tensor]) -> list[Tensor]:
    """One tensor for each dtype, in which the parameters lie from now on."""
    made: list[Tensor] = []
    by_dtype: dict[Any, list[Tensor]] = {}
    for one in parameters:
        by_dtype.setdefault(one.dtype, []).append(one)
    for dtype, alike in by_dtype.items():
        whole = empty(sum(one.numel() for one in alike), dtype=dtype)
        with no_grad():
            for one, part in zip(alike, whole.split([one.numel() for one in alike]), strict=True):
                view = part.view(one.shape)
                view.copy_(one)
                one.data = view
        made.append(whole)
    return made
