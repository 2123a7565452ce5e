"""Selective checkpoints: a policy says, for each operation, whether its result is kept or computed again.

    def keep_products(ctx, op, *args, **kwargs):
        return op == torch.ops.aten.mm.default

    checkpoint(f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(keep_products))

The first run keeps the results that the policy wants. The second run takes them instead of computing: the operation is recorded as ever.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from .._errors import spelled
from .._ops import OwnOp, aten
from .._tensor import Tensor
from ..autograd.packed import known_result
from ..autograd.views import counter_of
from ._python_dispatch import TorchDispatchMode


class CheckpointPolicy(enum.Enum):
    """What to do with the result of an operation. `PREFER` leaves room for a compiler to decide; here it means the same as `MUST`."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


RECOMPUTED = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE, False)
SAC_IGNORED_OPS = {aten.detach.default}  # operations about which no policy is asked


class SelectiveCheckpointContext:
    """What a policy is told: whether this is the second run, and the result of the operation."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class _Kept:
    """A result that was kept, and the version that it had."""

    def __init__(self, result: Any) -> None:
        self.tensors: tuple[Tensor, ...] = tuple(t.detach() for t in result) if isinstance(result, tuple) else (result.detach(),)
        self.several = isinstance(result, tuple)
        self.versions = [counter_of(t).version for t in self.tensors]

    def arrays(self, may_be_changed: bool) -> Any:
        if not may_be_changed and [counter_of(t).version for t in self.tensors] != self.versions:
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated: write the change out of place, or pass "
                "allow_cache_entry_mutation=True"
            )
        arrays = tuple(t._data for t in self.tensors)
        return arrays if self.several else arrays[0]


Store = dict[OwnOp, list[_Kept | None]]  # what each call of an operation left, in order: None where it is to be computed again


class _FirstRun(TorchDispatchMode):
    def __init__(self, policy: Callable[..., Any], store: Store) -> None:
        self.policy = policy
        self.store = store

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func in SAC_IGNORED_OPS:
            return result
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        recomputed = self.policy(context, func, *args, **(kwargs or {})) in RECOMPUTED
        self.store.setdefault(func, []).append(None if recomputed or not _is_new(result, args) else _Kept(result))
        return result


class _SecondRun(TorchDispatchMode):
    def __init__(self, store: Store, may_be_changed: bool) -> None:
        self.store = store
        self.may_be_changed = may_be_changed

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in SAC_IGNORED_OPS:
            return func(*args, **(kwargs or {}))
        if func not in self.store:
            raise RuntimeError(
                f"{func} encountered during backward but not found in storage. This can happen if the operations in the checkpointed "
                "region are nondeterministic or depend on global state that changed between forward and backward."
            )
        if not self.store[func]:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under selective "
                "activation checkpoint."
            )
        kept = self.store[func].pop(0)
        if kept is None:
            return func(*args, **(kwargs or {}))
        token = known_result.set(kept.arrays(self.may_be_changed))
        try:
            return func(*args, **(kwargs or {}))
        finally:
            known_result.reset(token)


def _is_new(result: Any, args: Sequence[Any]) -> bool:
    """Whether a result has memory of its own. Views and in-place writes are always done again."""
    tensors = result if isinstance(result, tuple) else (result,)
    return all(isinstance(t, Tensor) and not t._is_view() and all(t is not arg for arg in args) for t in tensors)


def create_selective_checkpoint_contexts(policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False) -> tuple[Any, Any]:
    """The two contexts for `checkpoint(..., context_fn=...)`, from a policy or from a list of the operations whose results are kept."""
    policy = policy_fn_or_list
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, OwnOp):
                raise ValueError(
                    spelled(
                        f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}\n"
                        "  fix: write torch.ops.aten.mm.default"
                    )
                )
        kept = frozenset(policy_fn_or_list)

        def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> bool:
            return op in kept

    elif not callable(policy_fn_or_list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    store: Store = {}
    return _FirstRun(policy, store), _SecondRun(store, allow_cache_entry_mutation)
