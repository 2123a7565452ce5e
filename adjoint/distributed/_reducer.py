"""Averaging gradients over processes while the backward pass goes on.

Each parameter has a hook that runs when its gradient has been added to `.grad`, the one that `AccumulateGrad.register_hook` gives to
anybody. It copies the gradient into its bucket; buckets that are full are sent, always in their order, so that all processes send the same
ones at the same time. When the pass ends, what came back is written into `.grad`.

Which gradients will not come has to be known, or a bucket would never be full: nobody is missing unless `find_unused` says that the graph
is to be searched for parameters that are not in it, or `static` that those missing in the first pass will always be missing.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .._creation import zeros_like
from .._dtype import int32
from .._from_data import tensor
from .._tensor import Tensor
from ..autograd.accumulate import AccumulateGrad
from ..autograd.engine import queue_callback, reachable, target_of
from ..autograd.grad_mode import no_grad
from ..autograd.views import edge_of
from ..futures import Future, finished
from ._buckets import Bucket, GradBucket, assign
from ._collectives import all_reduce, broadcast
from ._groups import ProcessGroup
from ._objects import all_gather_object

Hook = Callable[[Any, GradBucket], "Future[Tensor]"]


class Reducer:
    """The buckets of some parameters, and what happens to them in a backward pass."""

    def __init__(
        self, parameters: Sequence[Tensor], names: Sequence[str], group: ProcessGroup, sparse: Sequence[bool], caps: Sequence[int],
        *, find_unused: bool, views: bool, skip_unused: bool = False,
    ) -> None:  # fmt: skip
        self.parameters, self.names, self.group = list(parameters), list(names), group
        self.divisor: float = group.size()
        self._sparse, self._caps = list(sparse), list(caps)
        self._find_unused, self._views, self._skip_unused = find_unused, views, skip_unused
        self.static = False
        self._hook: Hook | None = None
        self._hook_state: Any = None
        self._buckets: list[Bucket] = []
        # As long as nobody knows in which order gradients come, there is one bucket: the order of the parameters may not be it. Where
        # parameters may be missing, the order may change from pass to pass, so theirs has to do.
        self._make_buckets(assign(parameters, sparse, caps if find_unused else [1 << 62])[::-1])
        self._rebuilt = find_unused
        self._order: dict[int, None] = {}  # the numbers of the parameters, in the order in which their gradients came

        self._expecting = False  # whether gradients of this pass are to be averaged
        self._begun = False  # whether some of them have been
        self._ready: set[int] = set()
        self._next = 0  # the bucket that is sent next
        self._sent: list[Future[Any] | None] = []  # None: left out
        self._unused: list[int] = []  # parameters that no gradient will come to
        self._used = [False] * len(self.parameters)  # those that one has come to since they were last averaged
        self._fired = [0] * len(self.parameters)  # static: how often each hook runs in a pass
        self._to_fire: list[int] | None = None  # the same, as far as it is still to run; None before that is known
        self._always_used: list[int] | None = None  # static: in how many processes a gradient comes to each

        me = weakref.ref(self)
        self._handles = [AccumulateGrad.of(one)._hooks().add_post(_reporting(me, number)) for number, one in enumerate(self.parameters)]

    def _remove_autograd_hooks(self) -> None:
        for handle in self._handles:
            handle.remove()

    def set_hook(self, state: Any, hook: Hook) -> None:
        """Let `hook(state, bucket)` combine gradients, instead of an average."""
        if self._hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._hook, self._hook_state = hook, state

    def _set_static_graph(self) -> None:
        if self._begun or self._order:
            raise RuntimeError(
                "set_static_graph() should be called before training loop starts and after DistributedDataParallel is constructed."
            )
        self.static = True
        if self._rebuilt:
            self._rebuilt = False
            self._make_buckets(assign(self.parameters, self._sparse, [1 << 62])[::-1])

    def _make_buckets(self, assigned: Sequence[Sequence[int]]) -> None:
        self._buckets = [Bucket([self.parameters[number] for number in numbers], numbers, self._sparse[numbers[0]]) for numbers in assigned]
        self._place = {number: (bucket, slot) for bucket in self._buckets for slot, number in enumerate(bucket.numbers)}
        if self._views:
            for one, (bucket, slot) in zip(self.parameters, map(self._place.__getitem__, range(len(self.parameters))), strict=True):
                if one.grad is not None and not bucket.sparse:
                    bucket.views[slot].copy_(one.grad.detach())
                    one.grad = bucket.views[slot]

    # ---- around the forward pass ----------------------------------------------------------------------------------------------------

    def _rebuild_buckets(self) -> bool:
        """After the first pass: buckets in the order in which gradients came to the first process."""
        self._check_reducer_finalized()
        if self._rebuilt or not self._order:
            return False
        rest = [number for number in range(len(self.parameters)) if number not in self._order]
        order = tensor([*self._order, *rest])
        broadcast(order, group=self.group, group_src=0)
        with no_grad():
            self._make_buckets(assign(self.parameters, self._sparse, self._caps, order.tolist()))
        self._rebuilt = True
        return True

    def _push_all_rebuilt_params(self) -> None:
        """The order in which gradients come, for a process to which none do."""
        self._order = self._order or dict.fromkeys(range(len(self.parameters)))

    def prepare_for_backward(self, outputs: Sequence[Tensor]) -> None:
        """Gradients of the next backward pass are to be averaged. With `find_unused`, `outputs` is what it may start from."""
        self._expecting, self._begun = True, False
        self._ready.clear()
        self._sent, self._next = [], 0
        for bucket in self._buckets:
            bucket.missing = len(bucket.numbers)
        if self.static:
            self._to_fire = list(self._fired) if any(self._fired) else None
        elif self._find_unused:
            edges = [edge for output in outputs if (edge := edge_of(output)) is not None]
            reached = {target_of(edge) for node in reachable(edges) for edge in node.next} | set(edges)
            self._unused = [number for number, one in enumerate(self.parameters) if one not in reached]

    def _check_reducer_finalized(self) -> None:
        """Refuse to go on if gradients of the last pass are missing."""
        if not self._begun:
            return
        missing = [number for number in range(len(self.parameters)) if number not in self._ready]
        self._begun = False
        raise RuntimeError(
            "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module "
            "has parameters that were not used in producing loss. You can enable unused parameter detection by passing the keyword "
            "argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by making sure all `forward` "
            "function outputs participate in calculating loss.\n"
            f"Parameters which did not receive grad for rank {self.group.rank()}: {', '.join(self.names[one] for one in missing)}\n"
            f"Parameter indices which did not receive grad for rank {self.group.rank()}: {' '.join(map(str, missing))}"
        )

    # ---- during the backward pass ---------------------------------------------------------------------------------------------------

    def _autograd_hook(self, number: int, has_gradient: bool = True) -> None:
        """The gradient of a parameter has been added to its `.grad`, or it is known that there will be none."""
        self._used[number] |= has_gradient
        if not self._expecting:
            return
        if not self._rebuilt:
            self._order.pop(number, None)
            self._order[number] = None
        if self.static:
            if not has_gradient:  # only the sink of the first pass says so
                return
            if self._to_fire is None:  # the first pass
                self._fired[number] += 1
                self._begun = True
                return
            self._to_fire[number] -= 1
            if self._to_fire[number] > 0:
                return
        if not self._begun:
            self._begun = True
            for unused in self._unused:
                self._mark_ready(unused)
        self._mark_ready(number)
        if self._next == len(self._buckets):
            queue_callback(self._finalize)

    def _delay_all_reduce(self) -> None:
        """The end of the first pass of a static graph: now it is known whose gradients do not come."""
        self._unused = [number for number, count in enumerate(self._fired) if not count]
        for number in range(len(self.parameters)):
            self._mark_ready(number)
        self._finalize()

    def _mark_ready(self, number: int) -> None:
        if number in self._ready:
            raise RuntimeError(
                f"Expected to mark a variable ready only once. The gradient of {self.names[number]} came twice in one backward pass. This "
                "error is caused by one of the following reasons: 1) Use of a module parameter outside the `forward` function. 2) Reused "
                "parameters in multiple reentrant backward passes: with checkpoint(), write use_reentrant=False, or make the "
                "DistributedDataParallel with static_graph=True."
            )
        self._ready.add(number)
        bucket, slot = self._place[number]
        gradient = self.parameters[number].grad
        if bucket.sparse:
            bucket.buffer = gradient
        else:
            view = bucket.views[slot]
            if gradient is None:
                view.zero_()
            elif gradient is not view:
                with no_grad():
                    view.copy_(gradient)
                if self._views and not gradient.requires_grad:
                    self.parameters[number].grad = view
        bucket.missing -= 1
        while self._next < len(self._buckets) and not self._buckets[self._next].missing:
            self._send(self._buckets[self._next])

    def _send(self, bucket: Bucket) -> None:
        self._next += 1
        if self._skip_unused and all(number in self._unused for number in bucket.numbers):
            self._sent.append(None)
            return
        with no_grad():
            self._sent.append(self._run_comm_hook(GradBucket(bucket, self._next - 1, len(self._buckets))))

    def _run_comm_hook(self, bucket: GradBucket) -> Future[Any]:
        """Combine the gradients of a bucket with those of the other processes: a Future of them.

        An average is there on return. To let it go on beside the backward pass would be slower: MPI moves data only while it is called, and
        its nonblocking collectives take 1.3 times (1 MB) to 6 times (6 MB) as long as the others between two processes of a machine."""
        if self._hook is not None:
            return self._hook(self._hook_state, bucket)
        if bucket._bucket.sparse:
            return self._average_sparse(bucket)
        buffer = bucket.buffer()
        if self.divisor != 1:
            buffer.div_(self.divisor)
        all_reduce(buffer, group=self.group)
        return finished(buffer)

    def _average_sparse(self, bucket: GradBucket) -> Future[Any]:
        from ..ops.join import cat
        from ..sparse import sparse_coo_tensor

        own: Any = bucket.buffer()  # None if there is no gradient
        parts: list[Any] = [None] * self.group.size()
        all_gather_object(parts, None if own is None else (own.coalesce().indices(), own.coalesce().values()), self.group)
        parts = [part for part in parts if part is not None]
        made = None
        if parts:
            shape = bucket.parameters()[0].shape
            indices, values = cat([part[0] for part in parts], 1), cat([part[1] for part in parts])
            made = sparse_coo_tensor(indices, values / self.divisor, shape).coalesce()
        return finished(made)

    # ---- at its end -----------------------------------------------------------------------------------------------------------------

    def _finalize(self) -> None:
        """Write what came back into `.grad`."""
        self._expecting = self._begun = False
        used = self._used_anywhere()
        with no_grad():
            for bucket, sent in zip(self._buckets, self._sent, strict=True):
                if sent is None:
                    continue
                result = sent.wait()
                if bucket.sparse:
                    if result is not None:
                        bucket.parameters[0].grad = result
                    continue
                if result is not bucket.buffer:
                    bucket.buffer.copy_(result.view(-1) if isinstance(result, Tensor) else result[0].view(-1))
                for number, one, view in zip(bucket.numbers, bucket.parameters, bucket.views, strict=True):
                    if used is None or used[number]:
                        self._write(one, view)
        self._used = [False] * len(self.parameters)

    def _write(self, parameter: Tensor, view: Tensor) -> None:
        gradient = parameter.grad
        if gradient is None:
            parameter.grad = view if self._views else view.clone()
        elif gradient is not view:
            gradient.detach().copy_(view)

    def _get_local_used_map(self) -> Tensor:
        """For each parameter, whether a gradient has come to it here."""
        return tensor([int(used) for used in self._used], dtype=int32)

    def _used_anywhere(self) -> list[int] | None:
        """For each parameter, in how many processes a gradient has come to it: if in none, it keeps what it has. None if nobody asks."""
        if not self._asks_who_is_used():
            return self._always_used
        used = self._get_local_used_map()
        all_reduce(used, group=self.group)
        if self.static:
            self._always_used = used.tolist()
        return used.tolist()  # type: ignore[no-any-return]

    def _asks_who_is_used(self) -> bool:
        return self._always_used is None if self.static else self._find_unused

    # ---- uneven inputs --------------------------------------------------------------------------------------------------------------

    def shadow(self) -> None:
        """Take part in the others' backward pass with gradients of zero."""
        for index, bucket in enumerate(self._buckets):
            blank = GradBucket(bucket, index, len(self._buckets))
            blank._buffer = None if bucket.sparse else zeros_like(bucket.buffer)
            with no_grad():
                self._run_comm_hook(blank).wait()
        if self._asks_who_is_used():
            self._used = [False] * len(self.parameters)
            self._used_anywhere()


def _reporting(me: weakref.ref[Reducer], number: int) -> Callable[[Any, Any], None]:
    """The hook of a parameter. It does not keep the reducer alive."""

    def hook(_: Any, gradients: Any) -> None:
        reducer = me()
        if reducer is not None:
            reducer._autograd_hook(number, gradients[0] is not None)

    return hook
