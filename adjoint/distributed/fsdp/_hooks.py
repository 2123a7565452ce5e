"""When the parameters of a module are gathered, and its gradients reduced: around its forward, and around its backward.

Before forward, parameters are gathered; after it they are given up again, unless they are to stay for backward. The results of forward
have a hook that gathers them before backward gets to the module. Its inputs pass through an alias with a hook that comes when backward
has left the module: then gradients are reduced and parameters given up. A module whose inputs need no gradients has no such moment, so
the end of the backward pass does it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._tensor import Tensor
from ...autograd.engine import queue_callback, task_now
from ...autograd.graph import register_multi_grad_hook
from ...nn import Module
from ...utils._pytree import tree_flatten, tree_map_only
from ._group import ParameterGroup


class ShardedModules:
    """The modules of one call of `fully_shard`, with their parameters."""

    def __init__(self, modules: list[Module], group: ParameterGroup, reshard_after_forward: bool | None) -> None:
        self.modules, self.group = modules, group
        self.reshard_after_forward = reshard_after_forward  # None: unless it is the outermost module
        self.reshard_after_backward = self.unshard_in_backward = True
        self.root: ShardedModules | None = None
        self.below: list[ShardedModules] = []  # of the root: all, itself too
        self.in_backward = self.waits_for_end = False
        self._called: set[Module] = set()
        for module in modules:
            module.register_forward_pre_hook(self._before_forward, prepend=True, with_kwargs=True)
            module.register_forward_hook(self._after_forward)
            module.register_state_dict_pre_hook(self._to_parts)
            module.register_load_state_dict_pre_hook(self._to_parts)

    def _to_parts(self, *_: Any) -> None:
        self.group.reshard()

    # ---- forward --------------------------------------------------------------------------------------------------------------------

    def _before_forward(self, module: Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
        if self.root is None:
            self._become_root(module)
        if self.in_backward and task_now() is not None:  # forward is computed again there
            return args, kwargs
        self.in_backward = False
        if self.root is self and self.waits_for_end:  # an error has ended the backward pass
            self.waits_for_end = False
            for state in self.below:
                state.group.drop_gradients()
        policy = self.group.policy
        if policy.cast_forward_inputs and policy.param_dtype is not None:
            args, kwargs = _cast((args, kwargs), policy.param_dtype)
        self.group.unshard()
        aliases: list[Tensor] = []

        def alias(x: Tensor) -> Tensor:
            if not x.requires_grad:
                return x
            aliases.append(x.view_as(x))
            return aliases[-1]

        args, kwargs = tree_map_only(Tensor, alias, (args, kwargs))
        if aliases:
            register_multi_grad_hook(aliases, lambda _: self.after_backward())
        return args, kwargs

    def _become_root(self, module: Module) -> None:
        self.below = list(dict.fromkeys(state for one in module.modules() if (state := state_of(one)) is not None))
        for state in self.below:
            state.root = self
        if self.reshard_after_forward is None:
            self.reshard_after_forward = False
        for state in self.below:
            if state.reshard_after_forward is None:
                state.reshard_after_forward = True

    def _after_forward(self, module: Module, args: Any, output: Any) -> Any:
        if self.in_backward:
            return output
        self._called.add(module)
        if len(self._called) == len(self.modules):
            self._called.clear()
            if self.reshard_after_forward:
                self.group.reshard()
        for x in tree_flatten(output)[0]:
            if isinstance(x, Tensor) and x.requires_grad:
                x.register_hook(self._before_backward)
        dtype = self.group.policy.output_dtype
        return output if dtype is None else _cast(output, dtype)

    # ---- backward -------------------------------------------------------------------------------------------------------------------

    def _before_backward(self, gradient: Tensor) -> None:
        root = self.root
        assert root is not None
        if not root.waits_for_end:
            root.waits_for_end = True
            queue_callback(root._end_of_backward)
        self.in_backward = True
        if self.unshard_in_backward:
            self.group.unshard()

    def after_backward(self) -> None:
        """Backward has left the modules."""
        self.in_backward = False
        self.group.reduce_gradients()
        if self.reshard_after_backward:
            self.group.reshard()

    def _end_of_backward(self) -> None:
        self.waits_for_end = False
        for state in self.below:
            state.after_backward()


def state_of(module: Module) -> ShardedModules | None:
    """What `fully_shard` has made of a module."""
    return module.__dict__.get("_fsdp_state")


def _cast(tree: Any, dtype: Any) -> Any:
    return tree_map_only(Tensor, lambda x: x.to(dtype) if x.is_floating_point() else x, tree)


def around_method(state: ShardedModules, module: Module, method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a module that needs whole parameters as `forward` does."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = state._before_forward(module, args, kwargs)
        return state._after_forward(module, args, method(*args, **kwargs))

    return wrapped
