"""Hooks around a module's call: before and after `forward`, and around its backward.

The tables have PyTorch's names, because programs look into them. A call without hooks does not come here: see `Module.__call__`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from .._creation import zeros
from .._site import warn
from .._state import recording
from .._tensor import Tensor
from ..autograd.function import Function
from ..autograd.hooks import RemovableHandle
from ..autograd.node import Node

if TYPE_CHECKING:
    from .module import Module

Hook = Callable[..., Any]
Table = OrderedDict[int, Any]


# Hooks that run for every module, by kind; EVERYWHERE knows all of them, so that a call has one table to ask.
EVERYWHERE: Table = OrderedDict()
ALL_FORWARD_PRE: Table = OrderedDict()
ALL_FORWARD: Table = OrderedDict()
ALL_FORWARD_ALWAYS: Table = OrderedDict()
ALL_FORWARD_WITH_KWARGS: Table = OrderedDict()
ALL_BACKWARD_PRE: Table = OrderedDict()
ALL_BACKWARD: Table = OrderedDict()
ALL_BACKWARD_OLD: Table = OrderedDict()  # of the old form
ALL_PARAMETERS: Table = OrderedDict()
_global_parameter_registration_hooks = ALL_PARAMETERS  # PyTorch's name
ALL_BUFFERS: Table = OrderedDict()
ALL_MODULES: Table = OrderedDict()


def add(table: Table, hook: Hook, prepend: bool = False, flags: tuple[tuple[Table, bool], ...] = ()) -> RemovableHandle:
    """Register a hook; `flags` are tables that mark it as special, and whether it is."""
    handle = RemovableHandle(table, extra_dict=[flag for flag, _ in flags])
    table[handle.id] = hook
    for flag, wanted in flags:
        if wanted:
            flag[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before the forward of every module."""
    return add(ALL_FORWARD_PRE, hook, flags=((EVERYWHERE, True),))


def register_module_forward_hook(hook: Hook, *, with_kwargs: bool = False, always_call: bool = False) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward of every module."""
    flags = ((EVERYWHERE, True), (ALL_FORWARD_WITH_KWARGS, with_kwargs), (ALL_FORWARD_ALWAYS, always_call))
    return add(ALL_FORWARD, hook, flags=flags)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` before the backward of every module."""
    return add(ALL_BACKWARD_PRE, hook, flags=((EVERYWHERE, True),))


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after the backward of every module."""
    if ALL_BACKWARD_OLD:
        raise BOTH_KINDS
    return add(ALL_BACKWARD, hook, flags=((EVERYWHERE, True),))


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """The old form, which sees only the last operation of each module; use `register_module_full_backward_hook`."""
    if ALL_BACKWARD:
        raise BOTH_KINDS
    return add(ALL_BACKWARD_OLD, hook, flags=((EVERYWHERE, True),))


BOTH_KINDS = RuntimeError(
    "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of them."
)


# ---- hooks of registration ----------------------------------------------------------------------------------------------------------


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, parameter)` whenever a parameter is registered; what it returns takes its place."""
    return add(ALL_PARAMETERS, hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` whenever a buffer is registered; what it returns takes its place."""
    return add(ALL_BUFFERS, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` whenever a module is registered; what it returns takes its place."""
    return add(ALL_MODULES, hook)


def registered(hooks: Table, module: Module, name: str, value: Any) -> Any:
    """What is to be registered, after the hooks."""
    for hook in hooks.values():
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


class CallHooks:
    """The part of `Module` that registers hooks around its call."""

    _forward_pre_hooks: Table
    _forward_pre_hooks_with_kwargs: Table
    _forward_hooks: Table
    _forward_hooks_with_kwargs: Table
    _forward_hooks_always_called: Table
    _backward_pre_hooks: Table
    _backward_hooks: Table
    _is_full_backward_hook: bool | None

    def register_forward_pre_hook(self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; what it returns replaces the arguments."""
        return add(self._forward_pre_hooks, hook, prepend, ((self._forward_pre_hooks_with_kwargs, with_kwargs),))

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; what it returns replaces the output.

        >>> import adjoint as ad
        >>> layer = ad.nn.Identity()
        >>> handle = layer.register_forward_hook(lambda module, args, output: output * 2)
        >>> layer(ad.ones(2))
        tensor([2., 2.])
        """
        flags = ((self._forward_hooks_with_kwargs, with_kwargs), (self._forward_hooks_always_called, always_call))
        return add(self._forward_hooks, hook, prepend, flags)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` when the gradients of the outputs are known; what it returns replaces them."""
        return add(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known; what it returns replaces them."""
        self._use_backward_hooks(full=True)
        return add(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """The old form, which sees only the last operation of `forward`; use `register_full_backward_hook`."""
        self._use_backward_hooks(full=False)
        return add(self._backward_hooks, hook)

    def _use_backward_hooks(self, *, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them.\n"
                "  fix: register all of them with register_full_backward_hook"
            )
        self._is_full_backward_hook = full


# ---- a call with hooks --------------------------------------------------------------------------------------------------------------


def call_with_hooks(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`forward` between its hooks."""
    called: set[int] = set()
    result = None
    try:
        args, kwargs = run_pre_hooks(module, args, kwargs)
        backward = BackwardHooks.of(module)
        if backward is not None:
            args = backward.watch_inputs(args)
        result = module.forward(*args, **kwargs)
        for number, hook, with_kwargs in forward_hooks_of(module):
            called.add(number)
            changed = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
            if changed is not None:
                result = changed
        if backward is not None:
            result = backward.watch_outputs(result)
        if module._is_full_backward_hook is False or ALL_BACKWARD_OLD:
            watch_last_operation(module, args, result)
        return result
    except Exception:
        run_always_called(module, args, kwargs, result, called)
        raise


def run_pre_hooks(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for number, hook in [*ALL_FORWARD_PRE.items(), *module._forward_pre_hooks.items()]:
        if number in module._forward_pre_hooks_with_kwargs:
            changed = hook(module, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def forward_hooks_of(module: Module) -> Iterator[tuple[int, Hook, bool]]:
    for number, hook in list(ALL_FORWARD.items()):
        yield number, hook, number in ALL_FORWARD_WITH_KWARGS
    for number, hook in list(module._forward_hooks.items()):
        yield number, hook, number in module._forward_hooks_with_kwargs


def run_always_called(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, called: set[int]) -> None:
    """After an error: the hooks that want to be called all the same and were not yet."""
    for number, hook, with_kwargs in forward_hooks_of(module):
        if number in called or not (number in ALL_FORWARD_ALWAYS or number in module._forward_hooks_always_called):
            continue
        try:
            changed = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
            result = result if changed is None else changed
        except Exception as error:
            warn(
                "module forward hook with ``always_call=True`` raised an exception that was silenced as another error was raised in "
                f"forward: {error}"
            )


def watch_last_operation(module: Module, args: tuple[Any, ...], result: Any) -> None:
    """The hooks of the old form: they go to the node that made the (first) output."""
    own = module._backward_hooks.values() if module._is_full_backward_hook is False else ()
    hooks = list(chain(ALL_BACKWARD_OLD.values(), own))
    first = result
    while hooks and not isinstance(first, Tensor):
        if not first:
            return
        first = next(x for x in first.values() if isinstance(x, Tensor)) if isinstance(first, dict) else first[0]
    node = first.grad_fn if hooks else None
    if node is not None:
        for hook in hooks:
            node.register_hook(partial(hook, module))
        warn_of_what_is_missed(args, result, node)


def warn_of_what_is_missed(args: tuple[Any, ...], result: Any, node: Node) -> None:
    """Say it where hooks of the old form, at one node, do not see all gradients of a module."""
    results = (result,) if isinstance(result, Tensor) else result
    using, then = "Using a non-full backward hook when", "is deprecated and will be removed in future versions. This hook will be missing"
    full = "Please use register_full_backward_hook to get the documented behavior."
    text = None
    if not isinstance(results, tuple) or not all(isinstance(x, Tensor) for x in results):
        text = (
            "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors "
            f"{then} some of the grad_output. {full}"
        )
    elif not all(isinstance(x, Tensor) for x in args):
        text = (
            "Using non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of Tensors "
            f"{then} some of the grad_input. {full}"
        )
    elif len(made := {x.grad_fn for x in results if x.grad_fn is not None}) > 1:
        text = f"{using} outputs are generated by different autograd Nodes {then} some grad_output. {full}"
    elif node not in made:
        text = f"{using} outputs are nested in python data structure {then} some grad_output."
    elif {x.grad_fn for x in args if x.grad_fn is not None} != {before for before, _ in node.next_functions}:
        text = f"{using} the forward contains multiple autograd Nodes {then} some grad_input. {full}"
    if text is not None:
        warn(text, FutureWarning)


# ---- backward hooks -----------------------------------------------------------------------------------------------------------------

# Note [Full backward hooks]
# The inputs and the outputs of the call each pass through a node that changes nothing. When all gradients of the outputs have arrived, the
# output node runs the pre-hooks and remembers the gradients; when all gradients of the inputs have arrived, the input node calls the hooks
# with both. A module none of whose inputs requires grad has no input node: its hooks are called by the output node.


class BackwardHookFunction(Function):
    """What inputs or outputs pass through. The hooks of its node do the work."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.mark_non_differentiable(*(x for x in tensors if not x.requires_grad))
        return tensors

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        return gradients

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> tuple[Tensor | None, ...]:
        return tangents


class BackwardHooks:
    """The backward hooks of one call of a module."""

    def __init__(self, module: Module, before: list[Hook], after: list[Hook]) -> None:
        self.module = module
        self.before = before
        self.after = after
        self.grad_outputs: tuple[Any, ...] | None = None
        self.inputs_watched = False
        self.input_count = 0

    @classmethod
    def of(cls, module: Module) -> BackwardHooks | None:
        if not (module._backward_hooks or module._backward_pre_hooks or ALL_BACKWARD or ALL_BACKWARD_PRE):
            return None
        own = module._backward_hooks.values() if module._is_full_backward_hook is not False else ()
        before = list(chain(ALL_BACKWARD_PRE.values(), module._backward_pre_hooks.values()))
        after = list(chain(ALL_BACKWARD.values(), own))
        return cls(module, before, after) if before or after else None

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.input_count = len(args)
        watched = pass_through(args)
        if watched is None:
            return args
        args, node, places = watched
        self.inputs_watched = True
        constants = {place: (args[place].shape, args[place].dtype) for place in places if not args[place].requires_grad}

        def call_hooks(grad_inputs: tuple[Any, ...], _: tuple[Any, ...]) -> tuple[Any, ...] | None:
            if self.grad_outputs is None:  # the inputs got a gradient without the outputs getting one
                return None
            gradients = list(scatter(grad_inputs, places, self.input_count))
            for place, (shape, dtype) in constants.items():
                gradients[place] = zeros(shape, dtype=dtype)
            changed = self._after(tuple(gradients), self.grad_outputs)
            self.grad_outputs = None
            return tuple(None if place in constants else changed[place] for place in places)

        node.register_hook(call_hooks)
        return args

    def watch_outputs(self, result: Any) -> Any:
        if not isinstance(result, Tensor | tuple):
            warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}"
            )
            return result
        outputs = (result,) if isinstance(result, Tensor) else result
        watched = pass_through(outputs)
        if watched is None:
            return result
        outputs, node, places = watched
        count = len(outputs)  # not the outputs: their node must not hold them

        def remember(grads: tuple[Any, ...]) -> tuple[Any, ...]:
            gradients = scatter(grads, places, count)
            for hook in self.before:
                changed = hook(self.module, gradients)
                if changed is not None:
                    gradients = checked(changed, gradients, "Backward pre hook", "grad_output")
            self.grad_outputs = gradients
            if not self.inputs_watched:
                if self.after:
                    warn(
                        "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
                        "gradients. Make an input require grad if the hook shall see its gradient."
                    )
                self._after((None,) * self.input_count, gradients)
                self.grad_outputs = None
            return tuple(gradients[place] for place in places)

        node.register_prehook(remember)
        return outputs[0] if isinstance(result, Tensor) else outputs

    def _after(self, grad_inputs: tuple[Any, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.after:
            changed = hook(self.module, grad_inputs, grad_outputs)
            if changed is not None:
                if not self.inputs_watched and not (isinstance(changed, tuple) and all(each is None for each in changed)):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None or None for all "
                        "gradients."
                    )
                grad_inputs = checked(changed, grad_inputs, "Backward hook", "grad_input")
        return grad_inputs


def checked(changed: Any, present: tuple[Any, ...], who: str, what: str) -> tuple[Any, ...]:
    given: tuple[Any, ...] = changed if isinstance(changed, tuple) else (changed,)
    if len(given) != len(present):
        raise RuntimeError(f"{who} returned an invalid number of {what}, got {len(given)}, but expected {len(present)}")
    return given


def scatter(values: tuple[Any, ...], places: list[int], count: int) -> tuple[Any, ...]:
    """The values at their places among `count`, None elsewhere."""
    spread = [None] * count
    for place, value in zip(places, values, strict=True):
        spread[place] = value
    return tuple(spread)


def pass_through(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], Node, list[int]] | None:
    """The values, with all tensors led through one common node, and their places; None where none requires grad. As in PyTorch, hooks
    see zeros for those that get no gradient."""
    places = [i for i, x in enumerate(values) if isinstance(x, Tensor)] if recording() else []
    if not any(values[place].requires_grad for place in places):
        return None
    watched = BackwardHookFunction.apply(*(values[place] for place in places))
    replaced = list(values)
    for place, tensor in zip(places, watched, strict=True):
        replaced[place] = tensor
    again: Any = type(values)._make if hasattr(values, "_make") else tuple  # a named tuple stays one
    node = next(x.grad_fn for x in watched if x.requires_grad)
    return again(replaced), node, places
