"""Hooks on tensors and nodes. Their order during backward, for each node:

    1. hooks of the tensor (`Tensor.register_hook`), in the order of registration
    2. `retain_grad`: what the hooks above returned is stored in `.grad`
    3. gradients asked for by `autograd.grad` are captured
    4. `Node.register_prehook`, then the node itself, then `Node.register_hook`
    5. for a leaf, after `.grad` has been updated: `Tensor.register_post_accumulate_grad_hook`
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import ref

from .._errors import GradientError, compose
from .._layer import levels, refuse_inside
from .._site import Site, here

if TYPE_CHECKING:
    from .._tensor import Tensor
    from .node import Edge

Hook = Callable[..., Any]
_ids = count()


class RemovableHandle:
    """Returned when a hook is registered: `remove()` takes the hook away, and so does leaving a `with` block.

    >>> import adjoint as ad
    >>> x = ad.ones(2, requires_grad=True)
    >>> with x.register_hook(lambda grad: grad * 10):
    ...     x.sum().backward()
    >>> x.grad
    tensor([10., 10.])
    """

    def __init__(self, hooks: dict[int, Any], *, extra_dict: Any = None) -> None:
        self.id = next(_ids)
        self._hooks = ref(hooks) if hasattr(hooks, "__weakref__") else (lambda: hooks)
        extra = [extra_dict] if isinstance(extra_dict, dict) else extra_dict or []
        self._extra: Iterable[dict[int, Any]] = extra

    def remove(self) -> None:
        hooks = self._hooks()
        for table in (hooks, *self._extra):
            if table is not None:
                table.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class _Hooks(dict[int, Hook]):
    """Hooks by handle, in the order of registration, and the lines that registered them."""

    __slots__ = ("__weakref__", "sites")

    def __init__(self, hooks: dict[int, Hook] | None = None) -> None:
        super().__init__(hooks or {})
        self.sites: dict[int, Site] = {}

    def add(self, hook: Hook) -> RemovableHandle:
        handle = RemovableHandle(self, extra_dict=self.sites)
        self[handle.id] = hook
        self.sites[handle.id] = here()
        return handle

    def site_of(self, hook: Hook) -> dict[str, Site]:
        """The line that registered a hook, for a message about it."""
        sites = [self.sites[number] for number, one in self.items() if one is hook and number in self.sites]
        return dict.fromkeys(("registered",), sites[0]) if sites else {}


class NodeHooks:
    """All hooks of one node, or of one leaf."""

    __slots__ = ("metadata", "post", "post_accumulate", "pre", "retained", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, _Hooks] = {}  # by output number
        self.retained: dict[int, ref[Tensor]] = {}  # tensors whose gradient is kept, by output number
        self.pre = _Hooks()
        self.post = _Hooks()
        self.post_accumulate = _Hooks()
        self.metadata: dict[Any, Any] = {}

    def add_tensor(self, nr: int, hook: Hook) -> RemovableHandle:
        return self.tensor.setdefault(nr, _Hooks()).add(hook)

    def set_tensor(self, nr: int, hooks: dict[int, Hook]) -> None:
        self.tensor[nr] = _Hooks(hooks)

    def add_pre(self, hook: Hook) -> RemovableHandle:
        return self.pre.add(hook)

    def add_post(self, hook: Hook) -> RemovableHandle:
        return self.post.add(hook)

    def run_tensor(self, nr: int, gradient: Tensor | None) -> Tensor | None:
        """Pass a gradient through the hooks of one output, and keep it if that was asked for."""
        hooks = self.tensor.get(nr, _NONE)
        for hook in list(hooks.values()):
            result = hook(gradient)
            if result is not None:
                gradient = checked(result, gradient, hook, hooks)
        kept = self.retained.get(nr)
        tensor = kept() if kept is not None else None
        if tensor is not None and gradient is not None:
            present = tensor._grad
            tensor._grad = gradient.clone() if present is None else present + gradient
        return gradient

    def run_pre(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in list(self.pre.values()):
            result = hook(gradients)
            if result is not None:
                gradients = all_checked(result, gradients, hook, self.pre)
        return gradients

    def run_post(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in list(self.post.values()):
            result = hook(inputs, outputs)
            if result is not None:
                inputs = all_checked(result, inputs, hook, self.post)
        return inputs

    def run_post_accumulate(self, leaf: Tensor) -> None:
        from .._tensor import Tensor

        for hook in list(self.post_accumulate.values()):
            result = hook(leaf)
            if isinstance(result, Tensor):
                raise RuntimeError(compose("Tensor post accumulate grad hooks should return None.", self.post_accumulate.site_of(hook)))
            if result is not None:
                raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}' (it should return nothing)")


_NONE = _Hooks()


def all_checked(result: Any, gradients: tuple[Any, ...], hook: Hook, hooks: _Hooks) -> tuple[Any, ...]:
    """What a hook of a node returned: as many gradients as it was given."""
    name = getattr(hook, "__name__", repr(hook))
    if not isinstance(result, tuple):
        message = f"expected tuple, but hook returned '{type(result).__name__}' (hook {name!r})"
        raise TypeError(compose(message, hooks.site_of(hook), "return (gradient,)"))
    if len(result) != len(gradients):
        raise GradientError(
            f"hook {name!r} has returned an incorrect number of values (got {len(result)}, but expected {len(gradients)})",
            hooks.site_of(hook),
            "return a tuple with a gradient or None for each that came in, or return nothing",
        )
    return tuple(None if new is None else checked(new, old, hook, hooks) for new, old in zip(result, gradients, strict=True))


def checked(result: Any, gradient: Tensor | None, hook: Hook, hooks: _Hooks | None = None) -> Tensor:
    """What a tensor hook (or the debugger) returned, refused unless it can stand for the gradient it was given."""
    from .._tensor import Tensor

    name, sites = getattr(hook, "__name__", repr(hook)), {} if hooks is None else hooks.site_of(hook)
    if not isinstance(result, Tensor):
        message = f"expected Variable, but hook returned '{type(result).__name__}' (hook {name!r})"
        raise TypeError(compose(message, sites, "return a tensor like the one that came in, or nothing to leave it as it is"))
    if gradient is None:
        raise GradientError(f"can't replace a None gradient with a non-None value (hook {name!r})")
    for what in ("shape", "dtype", "device"):
        got, expected = getattr(result, what), getattr(gradient, what)
        if got != expected:
            kind = {"shape": "size", "dtype": "type", "device": "device"}[what]
            raise GradientError(
                f"hook {name!r} has changed the {kind} of value: it was given {expected} and returned {got}",
                sites,
                f"return a gradient of the {what} that came in, {list(expected) if what == 'shape' else expected}",
            )
    return result


def retain(tensor: Tensor, edge: Edge) -> None:
    """Let a tensor that is no leaf keep its gradient."""
    if levels():
        refuse_inside("retain_grad()")
    if edge is None:
        raise RuntimeError(
            "can't retain_grad on Tensor that has requires_grad=False\n  fix: call x.requires_grad_() before the computation"
        )
    if edge is not tensor and not tensor._retains:
        tensor._hooks_of(edge).retained[tensor.output_nr] = ref(tensor)
        tensor._retains = True
