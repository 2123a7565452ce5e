"""Saved tensors in the custody of the user: what `saved_tensors_hooks` packs when it is saved and unpacks when backward wants it.

While such hooks are in force a bit of the mode (`SAVED_HOOKS`) sends every op to the general path, which packs what its node saves. Nodes
read a `Packed` like the tensor or the result that it stands for, so backward without hooks knows nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import numpy as np

from .._state import GRAD, SAVED_HOOKS, get_mode, swap_bits
from .node import Edge, Freed, LeafAlias, Node, Output, VersionCounter
from .views import counter_of, edge_of

if TYPE_CHECKING:
    from .._tensor import Tensor

Hook = Callable[[Any], Any]

in_force: ContextVar[tuple[tuple[Hook, Hook], ...]] = ContextVar("adjoint_saved_hooks", default=())
known_result: ContextVar[Any] = ContextVar("adjoint_known_result", default=None)  # the next op takes these arrays instead of computing
refusal: ContextVar[str | None] = ContextVar("adjoint_saved_hooks_refused", default=None)


class Packed:
    """A saved tensor that was packed. `_data` and `_vc` are read as of a tensor, `array` and `counter` as of a SavedOutput."""

    __slots__ = ("dtype", "edge", "nr", "unpack", "value")
    _vc = None  # whether somebody wrote over it is now the affair of the hooks
    counter = VersionCounter()

    def __init__(
        self, tensor: Tensor, hooks: tuple[Hook, Hook], *, edge: Edge = None, nr: int | None = None, dtype: np.dtype[Any] | None = None
    ) -> None:
        pack, self.unpack = hooks
        self.edge = edge  # where the gradient of an input goes
        self.nr = nr  # the number of an output, whose gradient goes to the node itself
        self.dtype = dtype  # in which the op was computed, if not in the tensor's own
        version = counter_of(tensor).version
        bits = swap_bits(GRAD | SAVED_HOOKS, 0)
        try:
            self.value = pack(tensor)
        finally:
            swap_bits(GRAD | SAVED_HOOKS, bits)
        if counter_of(tensor).version != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can not be modified by "
                "in-place operations as this can lead to unexpected side-effects.\n"
                "  fix: compute the packed value out of place, for example tensor * 2 instead of tensor.mul_(2)"
            )

    @property
    def tensor(self) -> Tensor:
        from .._tensor import Tensor

        found = self.unpack(self.value)
        if not isinstance(found, Tensor):
            raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(found).__name__}")
        return found

    @property
    def _data(self) -> Any:
        return self._converted(self.tensor._data)

    array = _data

    def _converted(self, value: Any) -> Any:
        if self.dtype is None:
            return value
        from ..ops._rules import cast

        return cast(value, self.dtype)

    def restored(self, node: Node) -> Tensor:
        """The tensor with the history that it had when `node` saved it."""
        tensor, edge = self.tensor, self.edge
        if self.nr is not None:
            edge = node if node.outputs is None else Output(node, self.nr)
        if edge is None or edge_of(tensor) is not edge:
            from .._tensor import wrap

            tensor = wrap(tensor._data)
            tensor._fn = edge if edge is None or hasattr(edge, "direct") else LeafAlias(edge)
        return self._converted(tensor)  # type: ignore[no-any-return]


def take_known_result() -> Any:
    """The result of the op that runs now, if a selective checkpoint has kept it."""
    result = known_result.get()
    known_result.set(None)
    return result


def hooks_now() -> tuple[Hook, Hook] | None:
    """The innermost hooks in force."""
    return in_force.get()[-1] if get_mode() & SAVED_HOOKS else None


class saved_tensors_hooks:
    """Call `pack_hook` on every tensor that a graph saves inside the block, and `unpack_hook` on what it returned when backward reads it.

    >>> import adjoint as ad
    >>> x = ad.tensor([1.0, 2.0], requires_grad=True)
    >>> with ad.autograd.graph.saved_tensors_hooks(lambda saved: saved.tolist(), ad.tensor):
    ...     y = x.exp()
    >>> y.sum().backward()
    """

    def __init__(self, pack_hook: Hook, unpack_hook: Hook) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook
        self._before: list[int] = []

    def __enter__(self) -> None:
        message = refusal.get()
        if message is not None:
            raise RuntimeError(message)
        for hook in (self.pack_hook, self.unpack_hook):
            if not callable(hook):
                raise TypeError(
                    "_push_saved_tensors_default_hooks(): incompatible function arguments. The following argument types are supported: two "
                    f"functions, not {type(hook).__name__}"
                )
        in_force.set((*in_force.get(), (self.pack_hook, self.unpack_hook)))
        self._before.append(swap_bits(SAVED_HOOKS, SAVED_HOOKS))

    def __exit__(self, *_: object) -> None:
        if not self._before:
            raise RuntimeError("saved_tensors_hooks were left without having been entered, or left twice")
        swap_bits(SAVED_HOOKS, self._before.pop())
        in_force.set(in_force.get()[:-1])


# ---- one saved tensor, as `node._raw_saved_self` shows it ---------------------------------------------------------------------------


class SavedTensor:
    """The place of a saved tensor in its node. `place` is None where this node did not need it."""

    __slots__ = ("node", "place")

    def __init__(self, node: Node | None = None, place: int | None = None) -> None:
        if node is None:
            raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")
        self.node = node
        self.place = place

    def _entry(self) -> Any:
        """What is saved there; None where nothing is, or not any more."""
        saved = self.node.saved
        return None if isinstance(saved, Freed) or self.place is None else saved[self.place]

    @property
    def data(self) -> Any:
        """The tensor that is saved, or what a hook has packed it into."""
        from .saved import saved_entry

        entry = self._entry()
        if isinstance(entry, Packed):
            return entry.value
        if entry is None:
            return None
        assert self.place is not None
        tensor, facts = saved_entry(self.node, self.place)
        return tensor.detach() if "nr" in facts else tensor

    @property
    def unpack_hook(self) -> Hook | None:
        """The hook that unpacks it, if there is one."""
        entry = self._entry()
        return entry.unpack if isinstance(entry, Packed) else None

    def register_hooks(self, pack_hook: Hook, unpack_hook: Hook) -> None:
        """Pack this one saved tensor now, and unpack it whenever it is read."""
        for hook in (pack_hook, unpack_hook):
            if not callable(hook):
                raise TypeError(
                    "register_hooks(): incompatible function arguments. The following argument types are supported: two functions, not "
                    f"{type(hook).__name__}"
                )
        from .saved import saved_entry

        saved = self.node.saved
        if isinstance(saved, Freed):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are freed when "
                "you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second "
                "time or if you need to access saved variables after calling backward."
            )
        place = self.place
        if place is None or saved[place] is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if isinstance(saved[place], Packed):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is allowed at a "
                "time."
            )
        tensor, facts = saved_entry(self.node, place)
        packed = Packed(tensor.detach(), (pack_hook, unpack_hook), **facts)
        self.node.saved = (*saved[:place], packed, *saved[place + 1 :])


# ---- mutation of saved tensors ------------------------------------------------------------------------------------------------------


class _Handle:
    """Stands in a graph for a saved tensor that may yet be written over. `memory` keeps its identity taken."""

    __slots__ = ("__weakref__", "memory")

    def __init__(self, memory: Any) -> None:
        self.memory = memory


def owner(data: Any) -> Any:
    """The array that has the memory which another one looks at."""
    while isinstance(getattr(data, "base", None), np.ndarray):
        data = data.base
    return data


class MutationGuard:
    """Copies a saved tensor just before somebody writes to its memory, be it through a view or through `.data`."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.original: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()
        self.cloned: WeakKeyDictionary[_Handle, Tensor] = WeakKeyDictionary()
        self._known: WeakValueDictionary[tuple[int, int], _Handle] = WeakValueDictionary()
        self._of_memory: dict[int, WeakSet[_Handle]] = {}

    def pack(self, tensor: Tensor) -> _Handle:
        counter = counter_of(tensor)
        key = id(tensor._data), counter.version
        handle = self._known.get(key)
        if handle is None:
            memory = owner(tensor._data)
            self._known[key] = handle = _Handle(memory)
            self.original[handle] = tensor.detach()
            self._of_memory.setdefault(id(memory), WeakSet()).add(handle)
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        found = self.cloned.get(handle, self.original.get(handle))
        if found is None:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was originally recorded."
            )
        return found

    def before_write(self, tensor: Tensor) -> None:
        for handle in self._of_memory.pop(id(owner(tensor._data)), ()):
            self.cloned[handle] = self.original.pop(handle).clone()


guard: ContextVar[MutationGuard | None] = ContextVar("adjoint_mutation", default=None)


def before_write(tensor: Tensor) -> None:
    """Called when a tensor is about to be written to while hooks are in force."""
    present = guard.get()
    if present is not None:
        present.before_write(tensor)
