"""Groups of processes: how they are made, and what is known of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from enum import Enum
from typing import Any, ClassVar, NoReturn

from .._device import resolve
from .._site import warn
from . import _mpi
from ._joining import join, shared_store
from ._stores import DEFAULT_TIMEOUT as default_pg_timeout
from ._stores import PrefixStore, Store
from ._transport import Transport

GroupName = str
TIMEOUT = "ADJOINT_DISTRIBUTED_TIMEOUT"  # the environment's word on how many seconds processes wait for each other


class _Names(type):
    """ReduceOp.SUM is a member of RedOpType, and counts as an instance of ReduceOp."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, RedOpType) or super().__instancecheck__(instance)


class RedOpType(Enum):
    """How values of several processes are combined."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)


class ReduceOp(metaclass=_Names):
    """How values of several processes are combined."""

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX = RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX
    BAND, BOR, BXOR, PREMUL_SUM = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR, RedOpType.PREMUL_SUM

    def __new__(cls, op: Any) -> Any:
        return RedOpType(op)


reduce_op = ReduceOp  # the old name


class Backend(str):
    """The name of a way for processes to talk, in small letters."""

    __slots__ = ()
    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    backend_list: ClassVar[list[str]] = ["undefined", "gloo", "nccl", "xccl", "ucc", "mpi", "fake"]
    default_device_backend_map: ClassVar[dict[str, str]] = {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl", "mps": "gloo"}

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return name.lower()

    @classmethod
    def register_backend(cls, name: str, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"register_backend({name!r}): processes talk over MPI, which 'gloo' and 'mpi' both name here")


class ProcessGroup:
    """Some of the processes of a program, or all of them."""

    def __init__(
        self, transport: Transport, ranks: Sequence[int], backend: str, name: str, desc: str, store: Store,
        timeout: timedelta | None = None,
    ) -> None:  # fmt: skip
        self._transport = transport
        self._timeout = timeout or default_pg_timeout
        self._turns = 0  # how often all of them were to communicate: equal everywhere, unless some have not come
        self._ranks = tuple(ranks)  # in the program, by their number in the group
        self._backend = backend
        self._store = store
        self.group_name, self.group_desc = name, desc
        self.bound_device_id = None

    def rank(self) -> int:
        """The number of this process in the group."""
        return self._transport.rank

    def size(self) -> int:
        return self._transport.size

    def name(self) -> str:
        return "gloo" if self._backend == "undefined" else self._backend

    def get_group_store(self) -> Store:
        return self._store

    def shutdown(self) -> None:
        """Nothing is left to do."""


class GroupMember:
    """What a process has in the place of a group."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100  # the process is not in the group


class _World(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        return GroupMember.WORLD

    @WORLD.setter
    def WORLD(cls, value: ProcessGroup | None) -> None:
        GroupMember.WORLD = value


class group(metaclass=_World):
    """`group.WORLD` is the group of all processes, or None before there is one."""


_pg_map: dict[ProcessGroup, tuple[str, Store]] = {}  # the groups there are
_numbers = [0]  # how many groups have been made: they are named by it, in all processes alike


# ---- what there is ------------------------------------------------------------------------------------------------------------------


def is_available() -> bool:
    """True: there can be a group of one process, at least."""
    return True


def is_initialized() -> bool:
    return GroupMember.WORLD is not None


def is_torchelastic_launched() -> bool:
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_gloo_available() -> bool:
    return True


def is_nccl_available() -> bool:
    return False


def is_mpi_available() -> bool:
    """Whether there can be a group of several processes."""
    return _mpi.available()


def is_ucc_available() -> bool:
    return False


def is_xccl_available() -> bool:
    return False


def is_backend_available(backend: str) -> bool:
    return backend.lower() == Backend.GLOO or (backend.lower() == Backend.MPI and is_mpi_available())


def supports_complex(reduceOp: Any) -> bool:
    """Whether complex numbers can be combined so."""
    return reduceOp not in (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def get_default_backend_for_device(device: Any) -> str:
    kind = resolve(device).type
    if kind not in Backend.default_device_backend_map:
        raise ValueError(f"Default backend not registered for device : {device}")
    return Backend.default_device_backend_map[kind]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process on its machine, from the environment."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError(
            "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work: "
            "get_node_local_rank(fallback_rank=0)"
        )
    return int(fallback_rank)


# ---- making groups ------------------------------------------------------------------------------------------------------------------


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None, world_size: int = -1, rank: int = -1,
    store: Store | None = None, group_name: str = "", pg_options: Any = None, device_id: Any = None,
) -> None:  # fmt: skip
    """Make the group of all processes. Their number and the rank of this one are given, or in the environment, as launchers set it."""
    if GroupMember.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    if timeout is None:
        timeout = timedelta(seconds=float(os.environ[TIMEOUT])) if TIMEOUT in os.environ else default_pg_timeout
    name = _usable(backend)
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is not None and world_size < 1:
        raise AssertionError("world_size must be positive if using store")
    if store is not None and rank < 0:
        raise AssertionError("rank must be non-negative if using store")
    transport, kept = join(init_method, rank, world_size, store, timeout)
    _begin(ProcessGroup(transport, range(transport.size), name, group_name or "0", "default_pg", kept, timeout))


def _begin(world: ProcessGroup) -> None:
    GroupMember.WORLD = _enrolled(world)
    if world.size() > 1:
        from . import _watchdog

        _watchdog.start(world)


def replace_world(transport: Transport) -> None:
    """Ranks were lost, or have come: the others are a world, and no group of before is one any more."""
    old = require(None)
    _pg_map.clear()
    _numbers[0] = 0
    os.environ.update(RANK=str(transport.rank), WORLD_SIZE=str(transport.size))
    world = ProcessGroup(transport, range(transport.size), old._backend, old.group_name, old.group_desc, old._store, old._timeout)
    GroupMember.WORLD = _enrolled(world)  # before anything is communicated, and may fail
    world._store = shared_store(transport)
    _begin(world)


def _usable(backend: str | None) -> str:
    """The name of a backend, or of one for each device ("cpu:gloo,cuda:nccl"), if this build has it for the CPU."""
    name = "undefined" if backend is None else Backend(backend)
    pairs = dict(part.split(":", 1) for part in name.split(",") if ":" in part)
    wanted = pairs.get("cpu", Backend.GLOO if pairs else name)
    if wanted not in Backend.backend_list:
        raise AssertionError(f"Unknown backend type {wanted}: write backend='gloo'")
    if wanted not in (Backend.GLOO, Backend.MPI, Backend.UNDEFINED):
        raise RuntimeError(f"Distributed package doesn't have {wanted.upper()} built in: adjoint runs on the CPU; write backend='gloo'")
    return name


def _enrolled(made: ProcessGroup) -> ProcessGroup:
    _pg_map[made] = (made._backend, made._store)
    return made


def destroy_process_group(group: Any = None) -> None:
    """Forget a group, or all of them."""
    if _rank_not_in_group(group):
        return
    gone = require(group)
    if gone.size() > 1:
        from . import _watchdog

        _watchdog.forget(gone)
    for one in list(_pg_map) if gone is GroupMember.WORLD else [gone]:
        del _pg_map[one]
        one._transport.free()
    if gone is GroupMember.WORLD:
        GroupMember.WORLD = None
        _numbers[0] = 0


def new_group(
    ranks: Sequence[int] | None = None, timeout: timedelta | None = None, backend: str | None = None, pg_options: Any = None,
    use_local_synchronization: bool = False, group_desc: str | None = None, device_id: Any = None, sort_ranks: bool = True,
) -> Any:  # fmt: skip
    """A group of some of the processes; `GroupMember.NON_GROUP_MEMBER` if this one is not among them."""
    world = require(None)
    chosen = list(world._ranks if ranks is None else ranks)
    if len(chosen) > world.size() and len(set(chosen)) == len(chosen):
        raise ValueError("the new group's world size should be less or equal to the world size set by init_process_group")
    for one in chosen:
        if one not in world._ranks:
            raise ValueError(f"Rank {one} is out of range. Valid ranks are 0 to {world.size() - 1} (world_size={world.size()})")
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"ranks list must not contain duplicate entries, got {chosen}")
    name = world._backend if backend is None else _usable(backend)
    if sort_ranks:
        chosen.sort()
    if use_local_synchronization:  # only the members count it
        number = f"{chosen}.{sum(one._ranks == tuple(chosen) for one in _pg_map)}"
    else:
        _numbers[0] += 1
        number = str(_numbers[0])
    transport = world._transport.part(chosen)
    if transport is None:
        return GroupMember.NON_GROUP_MEMBER
    kept = PrefixStore(number, world._store)
    made = _enrolled(ProcessGroup(transport, chosen, name, number, group_desc or "undefined", kept, timeout or world._timeout))
    if made.size() > 1:
        from . import _watchdog

        _watchdog.watch(made)
    return made


def new_subgroups(
    group_size: int | None = None, group: ProcessGroup | None = None, timeout: timedelta | None = None, backend: str | None = None,
    pg_options: Any = None, group_desc: str | None = None,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """Groups of `group_size` neighbours: the one of this process, and all."""
    ranks = require(group)._ranks
    size = group_size or 1
    if size < 1 or len(ranks) % size:
        raise ValueError(f"The world size ({len(ranks)}) must be divisible by group_size={size}")
    parts = [ranks[start : start + size] for start in range(0, len(ranks), size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]], timeout: timedelta | None = None, backend: str | None = None, pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """Groups of the processes that are named: the one of this process, and all."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    made = [new_group(ranks, timeout, backend, pg_options, group_desc=group_desc) for ranks in ranks_per_subgroup_list]
    return next((one for one in made if one is not GroupMember.NON_GROUP_MEMBER), None), made


def split_group(
    parent_pg: ProcessGroup | None = None, split_ranks: Sequence[Sequence[int]] | None = None, timeout: timedelta | None = None,
    pg_options: Any = None, group_desc: str | None = None, **options: Any,
) -> ProcessGroup | None:  # fmt: skip
    """Groups of the processes of a group, which are named by their numbers in it: the one of this process, or None."""
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    parent = require(parent_pg)
    parts = [[parent._ranks[rank] for rank in part] for part in split_ranks]
    return new_subgroups_by_enumeration(parts, timeout, None, pg_options, group_desc)[0]  # type: ignore[no-any-return]


# ---- asking groups ------------------------------------------------------------------------------------------------------------------


def require(group: Any) -> ProcessGroup:
    """A group, the one of all processes for None."""
    found = GroupMember.WORLD if group is None else group
    if found is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call init_process_group: "
            "torch.distributed.init_process_group('gloo', rank=0, world_size=1)"
        )
    if not isinstance(found, ProcessGroup) or found not in _pg_map:
        raise ValueError("Invalid process group specified: it is not one that init_process_group or new_group has made")
    return found


def _get_default_group() -> ProcessGroup:
    return require(None)


def _get_default_store() -> Store:
    return require(None)._store


def _rank_not_in_group(group: Any) -> bool:
    return group is GroupMember.NON_GROUP_MEMBER or group == GroupMember.NON_GROUP_MEMBER


def member(group: Any, name: str) -> ProcessGroup | None:
    """The group that a collective of a name is for; None if this process is not in it, and has nothing to do."""
    if _rank_not_in_group(group):
        warn(f"Running {name} on global rank {-1 if GroupMember.WORLD is None else get_rank()} which does not belong to the given group.")
        return None
    return require(group)


def root_of(group: ProcessGroup, rank: int | None, group_rank: int | None, otherwise: int | None = None) -> int:
    """The number in its group of the process that gives or takes; it is named by its number in the program, or in the group."""
    if group_rank is not None:
        if rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        if not 0 <= group_rank < group.size():
            raise ValueError(f"Group rank {group_rank} is not part of group {group}")
        return group_rank
    if rank is None and otherwise is None:
        raise ValueError("Must specify global_rank or group_rank")
    return get_group_rank(group, otherwise if rank is None else rank)  # type: ignore[arg-type]


def get_rank(group: Any = None) -> int:
    """The number of this process in a group; -1 if it is not in it."""
    return -1 if _rank_not_in_group(group) else require(group).rank()


def get_world_size(group: Any = None) -> int:
    """How many processes are in a group; -1 if this one is not."""
    return -1 if _rank_not_in_group(group) else require(group).size()


def get_backend(group: Any = None) -> str:
    return require(group)._backend


def get_backend_config(group: Any = None) -> str:
    name = require(group)._backend
    return "cpu:gloo" if name == "undefined" else name if ":" in name else f"cpu:{name},cuda:{name}"


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The numbers that the processes of a group have in the program."""
    return list(require(group)._ranks)


def get_global_rank(group: Any, group_rank: int) -> int:
    """The number in the program of a process of a group."""
    ranks = require(group)._ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_group_rank(group: Any, global_rank: int) -> int:
    """The number in a group of a process of the program."""
    ranks = require(group)._ranks
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_pg_count() -> int:
    return len(_pg_map)


__all__ = [
    "Backend", "GroupMember", "GroupName", "ProcessGroup", "ReduceOp", "default_pg_timeout", "destroy_process_group", "get_backend",
    "get_backend_config", "get_default_backend_for_device", "get_global_rank", "get_group_rank", "get_node_local_rank", "get_pg_count",
    "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_process_group", "is_available", "is_backend_available",
    "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available",
    "is_xccl_available", "new_group", "new_subgroups", "new_subgroups_by_enumeration", "reduce_op", "split_group", "supports_complex",
]  # fmt: skip
