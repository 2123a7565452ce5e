"""Trading time for memory: what a function computes in the forward pass is not kept, but computed again when the backward pass needs it.

There are two ways, as in PyTorch.

`use_reentrant=False`: the function runs once, recorded as usual, but each tensor that its graph would keep is replaced by an empty `Place`
(with `saved_tensors_hooks`). The first time that backward looks into one of them, the function runs again and fills them all. Nothing else
changes: hooks, `autograd.grad`, derivatives of derivatives and checkpoints inside checkpoints work as ever.

`use_reentrant=True`: the function runs unrecorded, and one node stands for the whole of it. Its backward runs the function again, recorded,
and starts a backward pass of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any
from weakref import ref

import numpy as np

from .._layer import levels
from .._sampling import default_generator, fork_rng
from .._site import Site, here
from .._state import AUTOCAST, get_mode, swap_bits
from .._tensor import Tensor, wrap
from ..autograd import Function
from ..autograd.differentiate import backward
from ..autograd.engine import computes_all_gradients, graph_task_id
from ..autograd.grad_mode import enable_grad, is_grad_enabled
from ..autograd.node import Cut
from ..autograd.packed import saved_tensors_hooks
from .checkpoint_policies import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "SAC_IGNORED_OPS", "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType", "GraphExecGroup",
    "SelectiveCheckpointContext", "check_backward_validity", "checkpoint", "checkpoint_sequential", "create_selective_checkpoint_contexts",
    "detach_variable", "get_device_states", "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop",
    "set_device_states",
]  # fmt: skip

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


class CheckpointError(RuntimeError):
    """The function did something else when it was run again."""


def noop_context_fn() -> Contexts:
    """The contexts for the forward pass and for the recomputation: none."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default", debug: bool = False, early_stop: bool = True, preserve_rng_state: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """`function(*args, **kwargs)`, computed again in the backward pass instead of keeping what it needs.

    >>> import adjoint as ad
    >>> from adjoint.utils.checkpoint import checkpoint
    >>> x = ad.tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint(lambda x: x.exp().log(), x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    if use_reentrant is None:
        _warn_about_way("torch.utils.checkpoint")
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs) + "\n  fix: write use_reentrant=False to pass them on")
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in _COMPARISONS:
        raise ValueError(f"determinism_check should be one of {list(_COMPARISONS)}, but got {determinism_check}")
    first, again = context_fn()
    if not is_grad_enabled() or levels():  # a transform keeps its graph only until it returns
        with first:
            return function(*args, **kwargs)
    switches = _debug.get(), _early_stop.get()
    segment = _Segment(
        (function, args, kwargs), _State(preserve_rng_state), again, _COMPARISONS[determinism_check],
        debug if switches[0] is None else switches[0], early_stop if switches[1] is None else switches[1],
    )  # fmt: skip
    with saved_tensors_hooks(segment.pack, segment.unpack), first:
        result = function(*args, **kwargs)
        segment.complete = True
    if not segment.complete:
        raise RuntimeError(
            "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during the checkpointed "
            "forward. This is not supported because checkpoint cannot return a value for a failed forward."
        )
    return result


def _warn_about_way(name: str) -> None:
    warnings.warn(
        f"{name}: the use_reentrant parameter should be passed explicitly: use_reentrant=False is recommended, use_reentrant=True is what "
        "happens without it.",
        stacklevel=3,
    )


def checkpoint_sequential(
    functions: Iterable[Callable[[Any], Any]], segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Modules one after the other, in so many segments; all but the last are checkpointed."""
    if use_reentrant is None:
        _warn_about_way("torch.utils.checkpoint.checkpoint_sequential")
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions)
    size = len(steps) // segments

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def forward(value: Any) -> Any:
            for step in steps[start:end]:
                value = step(value)
            return value

        return forward

    for segment in range(segments - 1):
        start = segment * size
        input = checkpoint(run(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return run((segments - 1) * size, len(steps))(input)


# ---- switches ----

_early_stop: ContextVar[bool | None] = ContextVar("adjoint_checkpoint_early_stop", default=None)
_debug: ContextVar[bool | None] = ContextVar("adjoint_checkpoint_debug", default=None)


@contextmanager
def _switched(switch: ContextVar[bool | None], value: bool | None) -> Iterator[None]:
    token = switch.set(value)
    try:
        yield
    finally:
        switch.reset(token)


def set_checkpoint_early_stop(enable: bool) -> AbstractContextManager[None]:
    """For the checkpoints made in this block: whether a recomputation ends as soon as it has found all that is needed."""
    return _switched(_early_stop, enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> AbstractContextManager[None]:
    """For the checkpoints made in this block: whether errors tell what was saved, and where, in both runs. None: as each one says."""
    return _switched(_debug, enabled)


# ---- running a function again ----


class _Argument(int):
    """Stands for one of the tensors among the arguments, by number."""


def _mapped(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """The same structure of tuples, lists and dicts with every item of a kind changed."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_mapped(item, kind, change) for item in value))
    if type(value) in (tuple, list):
        return type(value)(_mapped(item, kind, change) for item in value)
    if type(value) is dict:
        return {key: _mapped(item, kind, change) for key, item in value.items()}
    return value


def _without_tensors(value: Any) -> tuple[Any, list[Tensor]]:
    """The structure with numbers in the places of its tensors, and the tensors."""
    tensors: list[Tensor] = []

    def number(tensor: Tensor) -> _Argument:
        tensors.append(tensor)
        return _Argument(len(tensors) - 1)

    return _mapped(value, Tensor, number), tensors


def _with_tensors(value: Any, tensors: Sequence[Tensor]) -> Any:
    return _mapped(value, _Argument, lambda number: tensors[number])


class _State:
    """The random numbers and the autocast mode of the first run, for the second."""

    def __init__(self, preserve_rng_state: bool) -> None:
        self.random = default_generator._mark() if preserve_rng_state else None
        self.autocast = get_mode() & AUTOCAST

    @contextmanager
    def again(self) -> Iterator[None]:
        with fork_rng(enabled=self.random is not None), enable_grad():
            if self.random is not None:
                default_generator._return_to(self.random)
            bits = swap_bits(AUTOCAST, self.autocast)
            try:
                yield
            finally:
                swap_bits(AUTOCAST, bits)


# ---- use_reentrant=False ----


_group: ContextVar[GraphExecGroup | None] = ContextVar("adjoint_checkpoint_group", default=None)


class GraphExecGroup:
    """Inside, a checkpoint runs its function again at most once, even for several backward passes. They must not need the same tensors."""

    def __enter__(self) -> None:
        if _group.get() is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {_group.get()}")
        self._token = _group.set(self)

    def __exit__(self, *_: object) -> None:
        _group.reset(self._token)


class _Inputs(Function):
    """A node that does nothing but save tensors, so that the hooks of an outer checkpoint get them too."""

    @staticmethod
    def forward(ctx: Any, carrier: Tensor, *tensors: Tensor) -> Tensor:
        ctx.save_for_backward(*tensors)
        return carrier.detach()

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> None:
        """The carrier has no tangent."""


class _Place:
    """Where a saved tensor will be when the function has run again, for each backward pass that needs it."""

    __slots__ = ("__weakref__", "tensors")

    def __init__(self) -> None:
        self.tensors: dict[object, Tensor] = {}


class _Stop(Exception):  # noqa: N818  (it is no error)
    """All that is needed has been computed."""


Facts = dict[str, Any]


def _facts_of(tensor: Tensor) -> Facts:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_COMPARISONS: dict[str, Callable[[Facts, Facts], bool]] = {"default": lambda a, b: a == b, "none": lambda a, b: True}


class _Segment:
    """A call whose saved tensors are not kept, and the ways to get them again."""

    def __init__(
        self, call: tuple[Callable[..., Any], Any, Any], state: _State, context: AbstractContextManager[Any],
        agrees: Callable[[Facts, Facts], bool], debug: bool, early_stop: bool,
    ) -> None:  # fmt: skip
        self.function = call[0]
        self.arguments, tensors = _without_tensors(call[1:])
        self.node = _Inputs.apply(wrap(np.empty(0))._set_requires_grad(True), *tensors).grad_fn
        self.state = state
        self.context = context
        self.agrees = agrees
        self.debug = debug
        self.early_stop = early_stop
        self.complete = False  # whether the first run has ended; backward may be called inside it
        self.places: list[ref[_Place]] = []
        self.facts: list[Facts] = []
        self.sites: list[Site] = []
        self.done: set[object] = set()  # the backward passes for which the function has run again

    def pack(self, tensor: Tensor) -> _Place:
        place = _Place()
        self.places.append(ref(place))
        self.facts.append(_facts_of(tensor))
        if self.debug:
            self.sites.append(here())
        return place

    def unpack(self, place: _Place) -> Tensor:
        task: object = _group.get() or graph_task_id()
        if task == -1:  # somebody looks at a node: what is not asked for now is not kept
            self.recompute(self)
            found = place.tensors[self]
            for other in self.places:
                left = other()
                if left is not None:
                    left.tensors.pop(self, None)
            return found
        if task not in self.done:
            self.recompute(task)
            self.done.add(task)
        if task not in place.tensors:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are calling "
                "ctx.saved_tensors in backward, make sure to do so only once: x, y = ctx.saved_tensors. Inside a GraphExecGroup no two "
                "backward calls may need the same tensors."
            )
        return place.tensors.pop(task)

    def recompute(self, task: object) -> None:
        """Run the function again and put the tensors that are saved now into the places of the first run."""
        facts: list[Facts] = []
        sites: list[Site] = []

        def fill(tensor: Tensor) -> Tensor:
            number = len(facts)
            facts.append(_facts_of(tensor))
            if self.debug:
                sites.append(here())
            found = tensor.detach()
            if number < len(self.places):
                place = self.places[number]()
                if place is not None:
                    place.tensors[task] = found
            elif self.complete:
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass."
                )
            if self.early_stop and number + 1 == len(self.places):
                raise _Stop
            return found

        args, kwargs = _with_tensors(self.arguments, self.node.saved_tensors)
        try:
            with self.state.again(), self.context, saved_tensors_hooks(fill, lambda tensor: tensor):
                self.function(*args, **kwargs)
        except _Stop:
            pass
        except CheckpointError as error:
            raise self.explained(error, facts, sites) from None
        if self.complete:
            self.check(facts, sites)

    def check(self, facts: list[Facts], sites: list[Site]) -> None:
        if len(facts) != len(self.places):
            raise self.explained(
                CheckpointError(
                    "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                    f"Number of tensors saved during forward: {len(self.places)}\n"
                    f"Number of tensors saved during recomputation: {len(facts)}."
                ), facts, sites,
            )  # fmt: skip
        different = [
            f"tensor at position {number}:\nsaved metadata: {before}\nrecomputed metadata: {now}\n"
            for number, (before, now) in enumerate(zip(self.facts, facts, strict=True))
            if self.places[number]() is not None and not self.agrees(before, now)
        ]
        if different:
            raise self.explained(
                CheckpointError(
                    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the forward "
                    "pass.\n" + "".join(different)
                ), facts, sites,
            )  # fmt: skip

    def explained(self, error: CheckpointError, facts: list[Facts], sites: list[Site]) -> CheckpointError:
        """The same error with what was saved in both runs, and where, if that was asked for."""
        if not self.debug:
            return CheckpointError(f"{error}\n  fix: the function must do the same in both runs; debug=True shows where it does not")

        def listed(facts: list[Facts], sites: list[Site]) -> str:
            rows = zip(facts, sites, strict=True)
            return "".join(f"  {number}: {fact['dtype']}{list(fact['shape'])}  {site}\n" for number, (fact, site) in enumerate(rows))

        return CheckpointError(
            "An error happened while unpacking tensors; dumping logs of latest computation because you passed `debug=True` to "
            f"`torch.utils.checkpoint.checkpoint()`.\nSaved in the original forward:\n{listed(self.facts, self.sites)}"
            f"Saved in the recomputation:\n{listed(facts, sites)}{error}"
        )


# ---- use_reentrant=True ----


class CheckpointFunction(Function):
    """The node that stands for a whole function."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.function, ctx.state = run_function, _State(preserve_rng_state)
        ctx.arguments = [_Argument(place) if isinstance(arg, Tensor) else arg for place, arg in enumerate(args)]
        ctx.save_for_backward(*(arg if isinstance(arg, Tensor) else None for arg in args))
        results = run_function(*args)
        if not any(isinstance(arg, Tensor) and arg.requires_grad for arg in args):
            cut = Cut("checkpoint", "checkpoint(use_reentrant=True)", *here())
            for result in results if isinstance(results, tuple) else (results,):
                if isinstance(result, Tensor) and result._fn.__class__ is Cut:  # of parameters that require grad
                    result._fn = cut
        return results

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        if not computes_all_gradients():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing the "
                "`inputs` argument."
            )
        saved = ctx.saved_tensors
        inputs = detach_variable(tuple(saved[arg] if isinstance(arg, _Argument) else arg for arg in ctx.arguments))
        with ctx.state.again():
            outputs = ctx.function(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(out, g) for out, g in zip(outputs, gradients, strict=True) if isinstance(out, Tensor) and out.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([out for out, _ in pairs], [g for _, g in pairs])
        return None, None, *(x.grad if isinstance(x, Tensor) else None for x in inputs)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same tensors without their history, requiring grad as before."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(x.detach()._set_requires_grad(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=5)


# ---- devices: there is only the CPU ----


class DefaultDeviceType:
    """The device whose random numbers are preserved when no argument tells."""

    _device_type = "cpu"

    @staticmethod
    def set_device_type(device: str = "cpu") -> None:
        DefaultDeviceType._device_type = device

    @staticmethod
    def get_device_type() -> str:
        return DefaultDeviceType._device_type


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The devices of the arguments other than the CPU, and the states of their generators: none."""
    return [], []


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None:
    """Nothing to set."""
