"""Training that goes on when ranks are lost, and takes new ones in.

    state = elastic.State(model=model, optimizer=optimizer, sampler=sampler, epoch=0)

    @elastic.run
    def train(state):  # called anew whenever the ranks have changed, with the state of the newest commit on all of them
        ...
        state.commit(samples=len(x))

What is lost with a rank is at most what was done since the last commit, on all ranks: they begin again from there.
"""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from ..._sampling import get_rng_state, set_rng_state
from ...utils.data.distributed import DistributedSampler
from .. import _endings, _groups, _ulfm
from .._collectives import barrier
from .._groups import get_rank, get_world_size
from .._joining import START, starting
from .._objects import all_gather_object, broadcast_object_list
from .._transport import Transport

R = TypeVar("R")
_TRIES = 3  # how often ranks may be lost without a commit between, before no more are started


class Sampler(DistributedSampler):
    """`DistributedSampler` whose part follows the ranks: those that there are share what no commit has counted as done."""

    def __init__(self, dataset: Any, shuffle: bool = True, seed: int = 0, drop_last: bool = False) -> None:
        super().__init__(dataset, 1, 0, shuffle, seed, drop_last)
        self.done = 0  # of the epoch's order, by all ranks

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch, or go on with it if it is the same."""
        if epoch != self.epoch:
            self.epoch, self.done = epoch, 0

    def __iter__(self) -> Iterator[int]:
        ranks, rest = get_world_size(), list(super().__iter__())[self.done :]
        if rest and not self.drop_last:
            rest += (rest * ranks)[: -len(rest) % ranks]  # repeated from the start until every rank has as many
        return iter(rest[: len(rest) // ranks * ranks][get_rank() :: ranks])

    def __len__(self) -> int:
        rest, ranks = len(self.dataset) - self.done, get_world_size()
        return max(rest, 0) // ranks if self.drop_last else -(-max(rest, 0) // ranks)

    def state_dict(self) -> dict[str, int]:
        return {"epoch": self.epoch, "done": self.done}

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        self.epoch, self.done = state_dict["epoch"], state_dict["done"]


class State:
    """What training consists of: modules, optimizers, schedulers and a `Sampler`, and plain values, each by a name."""

    def __init__(self, **values: Any) -> None:
        for name, value in values.items():
            if isinstance(value, DistributedSampler) and not isinstance(value, Sampler):
                raise TypeError(f"State({name}=...): a DistributedSampler keeps its part when ranks change; write elastic.Sampler(dataset)")
        self.__dict__.update(values)
        self._names = list(values)
        self._commits = 0
        self._taken = self._snapshot()

    if TYPE_CHECKING:  # the values, which have any names

        def __getattr__(self, name: str) -> Any: ...

    def commit(self, samples: int = 0) -> None:
        """Keep what there is now, to begin again from. `samples` is how many of the sampler's this rank has used since the last commit."""
        samplers = [value for value in map(self.__dict__.get, self._names) if isinstance(value, Sampler)]
        if samples and len(samplers) != 1:
            raise ValueError(f"commit(samples={samples}): there are {len(samplers)} samplers; write State(sampler=elastic.Sampler(...))")
        for sampler in samplers:
            sampler.done += samples * get_world_size()
        self._taken, self._commits = self._snapshot(), self._commits + 1

    def _snapshot(self) -> dict[str, Any]:
        kept = {}
        for name in self._names:
            value = self.__dict__[name]
            kept[name] = copy.deepcopy(value.state_dict() if hasattr(value, "load_state_dict") else value)
        self._random = get_rng_state()  # each rank's own
        return kept

    def _synchronise(self) -> None:
        """Make the newest commit that any rank has everybody's, and put it into place."""
        commits: list[Any] = [None] * get_world_size()
        all_gather_object(commits, self._commits)
        newest = max(commits)
        shared = [self._taken]
        broadcast_object_list(shared, commits.index(newest))
        self._taken, self._commits = shared[0], newest
        for name, kept in self._taken.items():
            value = self.__dict__[name]
            if hasattr(value, "load_state_dict"):
                value.load_state_dict(copy.deepcopy(kept))
            else:
                self.__dict__[name] = copy.deepcopy(kept)
        set_rng_state(self._random)


@overload
def run(function: Callable[..., R], /) -> Callable[..., R]: ...
@overload
def run(*, replace: bool = True, least: int = 1) -> Callable[[Callable[..., R]], Callable[..., R]]: ...


def run(function: Any = None, /, *, replace: bool = True, least: int = 1) -> Any:
    """A function of a `State` that is called anew when ranks were lost, and until it returns on all of them.

    Groups and `DistributedDataParallel` have to be made inside it. With `replace` as many ranks as are lost are started anew and run the
    program from its start; without, and where they fail to start, the others go on. Fewer than `least` ranks give up.
    """
    if function is None:
        return functools.partial(_elastic, replace=replace, least=least)
    return _elastic(function, replace, least)


def _elastic(function: Callable[..., R], replace: bool, least: int) -> Callable[..., R]:
    @functools.wraps(function)
    def elastic(state: State, *args: Any, **kwargs: Any) -> R:
        if not _ulfm.enabled():
            if get_world_size() == 1:
                return function(state, *args, **kwargs)
            raise RuntimeError(
                "elastic.run: MPI ends all ranks when one is lost, unless Open MPI's fault tolerance is on; start the program with "
                "`python -m adjoint launch --elastic`, or with --max-restarts and checkpoints, which any MPI can"
            )
        wanted, stuck, whole = get_world_size() if replace else 0, 0, True
        _endings.needed.append(state)
        while True:
            commits = state._commits
            try:
                if not whole:
                    wanted = _recover(wanted if stuck < _TRIES else 0)
                    whole = True
                    if get_world_size() < least:
                        raise RuntimeError(f"elastic.run: {get_world_size()} ranks are left, and at least {least} are wanted")
                state._synchronise()
                result = function(state, *args, **kwargs)
                barrier()  # somebody may be lost who has not yet returned
                _endings.needed.remove(state)
                return result
            except Exception as error:
                if not _ulfm.lost(error):
                    raise
            whole, stuck = False, stuck + 1 if state._commits == commits else 0

    return elastic


def _recover(wanted: int) -> int:
    """Make a world of the ranks that are left, and of new ones up to `wanted`, and return that. Others may be lost meanwhile."""
    world = _groups.require(None)
    _ulfm.revoke(group._transport for group in list(_groups._pg_map))
    with starting(max(world._timeout, START)):
        transport: Transport = world._transport
        while True:
            transport = _ulfm.shrink(transport)
            grown: Transport | None = None
            number = np.array([wanted])
            try:
                transport.all_reduce(number, "MAX")  # who has come late knows less
                well = True
            except Exception as error:
                well = not _ulfm.lost(error)
            if not _ulfm.agreed(transport, well):
                continue
            wanted = int(number[0])
            missing = wanted - transport.size
            try:
                grown = _ulfm.grow(transport, missing) if missing > 0 else transport
            except Exception as error:
                if not _ulfm.lost(error):
                    raise
            if _ulfm.agreed(transport, grown is not None):
                break
            if grown is not None and grown is not transport:
                _ulfm.revoke([grown])  # its new processes give up
    assert grown is not None
    if grown.rank == 0:
        print(f"adjoint: ranks left: {transport.size} of {world.size()}; going on with {grown.size}", file=sys.stderr, flush=True)
    _groups.replace_world(grown)
    return wanted
