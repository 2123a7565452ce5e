"""`ad.doctor`: watches a training and says what is wrong with it that no error tells.

    with ad.doctor() as doctor:
        train(model)
    print(doctor)

It listens to what the library tells (`_events.py`, hooks of modules and optimizers), keeps the facts that several rules need, and hands
each event to the rules. Ops are watched in windows: over the first backward passes, when a new optimizer or a new line with `backward()`
turns up, when the model is set to evaluation, and from time to time afterwards; so a long training pays little. It never raises, and
never changes a result.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Self, TextIO

import numpy as np

from .. import _events
from .._site import Site, user_frame
from .._source import local_variables, variable_of
from .._state import GRAD, OBSERVE, get_mode, swap_bits
from .._tensor import Tensor
from .._watching import op_name
from ..autograd.hooks import RemovableHandle
from ..nn._hooks import register_module_forward_hook, register_module_forward_pre_hook
from ..nn.module import Module
from ..optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from .events import ModuleCall, OpCall, Pass, PerTensor
from .finding import FINDING, Finding
from .rule import Rule

FIRST = 24  # backward passes that are watched closely at the beginning, and after something new has turned up
EVERY, AGAIN = 200, 3  # later so many of so many

EVALUATIONS = 5  # phases of evaluation that are watched as closely

# Events that rules get as they come, with the line.
PASSED_ON = {
    "grad_done": _events.GRAD_DONE,
    "zero_grad": _events.ZERO_GRAD,
    "clip": _events.CLIP,
    "scheduler_step": _events.SCHEDULER_STEP,
    "function": _events.FUNCTION,
    "loader_made": _events.LOADER_MADE,
    "batch": _events.BATCH,
}
EVENTS = ("op", "entered", "left", "backward", "backward_done", "optimizer_made", "step", "step_done", "train_mode", "finish", *PASSED_ON)


class Doctor:
    """The findings about what runs between `__enter__` and `__exit__`. As text, the whole report."""

    def __init__(self, *subjects: Any, ignore: Iterable[str] = (), live: TextIO | None = None) -> None:
        from .rules import RULES

        self._ignored = frozenset(ignore)
        if unknown := sorted(self._ignored - {rule.name for rule in RULES}):
            known = ", ".join(sorted(rule.name for rule in RULES))
            raise ValueError(f"doctor(): there is no rule {unknown[0]!r}. The rules are {known}")
        for subject in subjects:
            if not isinstance(subject, Module | Optimizer):
                raise TypeError(
                    f"doctor(): expected modules and optimizers, or one function to be called, but got {type(subject).__name__}"
                )
        self._models: dict[int, tuple[weakref.ref[Module], str]] = {}  # those that were called by the program itself, and their variables
        self.findings: list[Finding] = []
        self.failures: dict[str, Exception] = {}  # rules that failed, and are silent since
        self._live = live
        self._listening: dict[str, list[Callable[..., None]]] = {}  # for each event the methods of rules that want it
        self._always: dict[str, list[Callable[..., None]]] = {}  # the same between windows
        for rule in (made(self) for made in RULES if made.name not in self._ignored):
            for event in EVENTS:
                if getattr(type(rule), event) is not getattr(Rule, event):
                    self._listening.setdefault(event, []).append(getattr(rule, event))
                    if rule.always or event == "finish":
                        self._always.setdefault(event, []).append(getattr(rule, event))
        self.looking = False  # whether this is a window
        self.passes = 0
        self._until = FIRST  # the pass with which the window ends
        self._lines_seen: set[Site] = set()  # that called backward()
        self._running: Pass | None = None
        self._made: dict[int, tuple[weakref.ref[Module], Site]] = {}
        self._in_step = 0
        self._evaluations = 0
        self.modules: tuple[Any, ...] = ()  # whose `forward` is running
        self.optimizers: dict[int, OptimizerFacts] = {}
        self.used = PerTensor()  # the gradients that a step has used, and their versions
        for subject in subjects:
            if isinstance(subject, Optimizer):
                self.facts_of(subject)
        self._handles: list[RemovableHandle] = []
        self._watching: list[RemovableHandle] = []  # of module calls
        self._channels: list[tuple[_events.Channel, Callable[..., None]]] = [
            (_events.OP, self._op),
            (_events.BACKWARD, self._backward),
            (_events.BACKWARD_DONE, self._backward_done),
            (_events.OPTIMIZER_MADE, self._optimizer_made),
            (_events.TRAIN_MODE, self._train_mode),
            (_events.MODULE_MADE, self._module_made),
            (_events.UNRECORDED, self._unrecorded),
            *((channel, partial(self._pass_on, event)) for event, channel in PASSED_ON.items()),
        ]

    # ---- beginning and end ----------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._thread = threading.get_ident()
        for channel, listener in self._channels:
            channel.append(listener)
        self._handles = [
            register_optimizer_step_pre_hook(self._step),
            register_optimizer_step_post_hook(self._step_done),
        ]
        self._look(True)
        return self

    def __exit__(self, *_: object) -> None:
        self._tell("finish")
        self._look(False)
        self._watch_modules(False)  # which an evaluation after the last window has asked for
        for channel, listener in self._channels:
            channel.remove(listener)
        for handle in self._handles:
            handle.remove()

    def _look(self, closely: bool) -> None:
        if closely is self.looking:
            return
        self.looking = closely
        swap_bits(OBSERVE, OBSERVE if closely else 0)
        self._watch_modules(closely)

    def _watch_modules(self, wanted: bool) -> None:
        """Be told of the calls of modules, or not: in windows, and while nothing is recorded."""
        if wanted is bool(self._watching):
            return
        for handle in self._watching:
            handle.remove()
        self._watching = []
        if wanted:
            self.modules = ()
            self._watching = [register_module_forward_pre_hook(self._entered), register_module_forward_hook(self._left, always_call=True)]

    def _unrecorded(self) -> None:
        if not self._in_step and not self._elsewhere():
            self._watch_modules(True)

    def look_again(self) -> None:
        """Something new has turned up: the next passes are watched closely."""
        self._until = max(self._until, self.passes + FIRST)
        self._look(True)

    # ---- what the library tells -----------------------------------------------------------------------------------------------------

    def _here(self) -> Site:
        frame = user_frame(sys._getframe(2))
        return Site(frame.f_code, frame.f_lasti)

    def _elsewhere(self) -> bool:
        """Whether this happens in another thread, or inside of what was told of already."""
        return threading.get_ident() != self._thread

    def _op(self, op: Any, args: tuple[Any, ...], keywords: dict[str, Any], result: Any) -> None:
        if self._running is None and not self._in_step and not self._elsewhere() and "op" in self._listening:
            self._tell("op", OpCall(op_name(op), dict(zip(op.args, args, strict=False)) | keywords, result, self._here(), self.modules))

    def _entered(self, module: Any, args: tuple[Any, ...]) -> None:
        if not self._elsewhere():
            if not self.modules and id(module) not in self._models:
                self._models[id(module)] = weakref.ref(module), variable_of(module)
            call = ModuleCall(module, args, self.modules, self._here())
            self.modules = (*self.modules, module)
            self._tell("entered", call)

    def _left(self, module: Any, args: tuple[Any, ...], result: Any) -> None:
        if not self._elsewhere() and module in self.modules:
            self.modules = self.modules[: self.modules.index(module)]
            call = ModuleCall(module, args, self.modules, self._here())
            call.result = result
            self._tell("left", call)

    def _backward(self, roots: tuple[Any, ...], inputs: Any, create_graph: bool) -> None:
        if self._elsewhere():
            return
        site = self._here()
        self.passes += 1
        if site not in self._lines_seen:
            self._lines_seen.add(site)
            self.look_again()
        elif self.passes > self._until:
            self._look(self.passes % EVERY < AGAIN)
            self._watch_modules(self.looking)
        self._running = Pass(roots, create_graph, site, self.passes)
        self._tell("backward", self._running)

    def _backward_done(self, roots: tuple[Any, ...]) -> None:
        if self._running is not None and not self._elsewhere():
            event, self._running = self._running, None
            self._tell("backward_done", event)

    def _pass_on(self, event: str, *facts: Any) -> None:
        if not self._elsewhere():
            self._tell(event, *facts, self._here())

    def _made_here(self, thing: Any) -> Site:
        """The line that makes something: the first that is not in a method of its own class."""
        frame = user_frame(sys._getframe(2))
        while frame.f_back is not None and next(iter(local_variables(frame).values()), None) is thing:
            frame = user_frame(frame.f_back)
        return Site(frame.f_code, frame.f_lasti)

    def _module_made(self, module: Any) -> None:
        if not self._elsewhere():
            self._made[id(module)] = weakref.ref(module), self._made_here(module)

    def _optimizer_made(self, optimizer: Any) -> None:
        if not self._elsewhere():
            self.facts_of(optimizer).made = site = self._made_here(optimizer)
            self._tell("optimizer_made", optimizer, site)

    def _step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self._elsewhere():
            self.facts_of(optimizer)
            self._tell("step", optimizer, self._here())
            self._in_step += 1

    def _step_done(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self._elsewhere():
            self._in_step = max(self._in_step - 1, 0)
            facts = self.facts_of(optimizer)
            facts.steps += 1
            facts.stepped = site = self._here()
            if self.looking:
                for parameter in facts.parameters():
                    if (gradient := parameter._grad) is not None:
                        self.used[parameter] = weakref.ref(gradient), gradient._version
            self._tell("step_done", optimizer, site)

    def _train_mode(self, module: Any, mode: bool) -> None:
        if not self._elsewhere():
            if not mode and self._evaluations < EVALUATIONS:  # what happens until the next backward pass is worth a look
                self._evaluations += 1
                self._look(True)
            self._tell("train_mode", module, mode, self._here())

    def _tell(self, event: str, *facts: Any) -> None:
        """Hand an event to the rules. One that fails is not asked again: the doctor never raises."""
        listening = self._listening if self.looking else self._always
        methods = listening.get(event)
        if not methods:
            return
        bit = swap_bits(OBSERVE, 0)
        try:
            with np.errstate(all="ignore"):
                for method in tuple(methods):
                    rule = method.__self__  # type: ignore[attr-defined]
                    try:
                        method(*facts)
                    except Exception as error:
                        self.failures[rule.name] = error
                        for table in (self._listening, self._always):
                            for name, others in table.items():
                                table[name] = [other for other in others if other.__self__ is not rule]  # type: ignore[attr-defined]
        finally:
            if bit and self.looking:
                swap_bits(OBSERVE, OBSERVE)

    # ---- facts ----------------------------------------------------------------------------------------------------------------------

    def facts_of(self, optimizer: Any) -> OptimizerFacts:
        facts = self.optimizers.get(id(optimizer))
        if facts is None or facts.optimizer() is not optimizer:
            facts = self.optimizers[id(optimizer)] = OptimizerFacts(optimizer)
            if self.passes:
                self.look_again()
        return facts

    def serving(self, parameter: Tensor) -> Iterator[OptimizerFacts]:
        """The optimizers that have a parameter."""
        return (facts for facts in self.optimizers.values() if any(one is parameter for one in facts.parameters()))

    def was_used(self, parameter: Tensor) -> bool:
        """Whether the gradient that a parameter has now is one that a step has used, and that nobody has changed since."""
        known = self.used.get(parameter)
        return known is not None and known[0]() is parameter._grad is not None and known[1] == parameter._grad._version

    def owner_of(self, parameter: Tensor) -> tuple[Any, str]:
        """The module that has a parameter, and its name from the variable of the model on; None and nothing if there is none."""
        for known, variable in self._models.values():
            model = known()
            for path, module in () if model is None else model.named_modules():
                for name, one in module._parameters.items():
                    if one is parameter:
                        return module, ".".join(filter(None, (variable, path, name)))
        return None, ""

    def names_of(self, parameters: Iterable[Tensor], most: int = 4) -> str:
        """The names of parameters, as a list in words; shapes for those that have none."""
        listed = list(parameters)
        names = [self.owner_of(one)[1] for one in listed[:most]]
        if not all(names):
            shapes = ", ".join(str(list(one.shape)) for one in listed[:most])
            return (
                f"a parameter of shape {shapes}"
                if len(listed) == 1
                else f"{len(listed)} parameters (of shapes {shapes}{', ...' * (len(listed) > most)})"
            )
        return ", ".join(names) + (f" and {len(listed) - most} more" if len(listed) > most else "")

    def made(self, module: Any) -> Site | None:
        """The line that made a module."""
        known = self._made.get(id(module))
        return known[1] if known is not None and known[0]() is module else None

    @property
    def in_step(self) -> bool:
        """Whether an optimizer is at work, which may call the program for more losses."""
        return self._in_step > 0

    @property
    def recording(self) -> bool:
        """Whether the program records now, outside of no_grad."""
        return bool(get_mode() & GRAD)

    # ---- what is said ---------------------------------------------------------------------------------------------------------------

    def found(self, finding: Finding) -> None:
        self.findings.append(finding)
        if self._live is not None and sum(one.rule == finding.rule for one in self.findings) == 1:
            print(f"\n{finding}\n", file=self._live, flush=True)

    def of(self, rule: str) -> list[Finding]:
        """The findings of a rule."""
        return [finding for finding in self.findings if finding.rule == rule]

    def as_dict(self) -> dict[str, Any]:
        """The report for programs to read."""
        failed = {name: f"{type(error).__name__}: {error}" for name, error in self.failures.items()}
        return {"findings": [finding.as_dict() for finding in self.findings], "passes": self.passes, "failed rules": failed}

    def __str__(self) -> str:
        certain = sum(finding.grade == FINDING for finding in self.findings)
        counted = f"{certain} finding{'s' * (certain != 1)}, {(notes := len(self.findings) - certain)} note{'s' * (notes != 1)}"
        watched = f"{self.passes} backward pass{'es' * (self.passes != 1)}"
        parts = [f"adjoint doctor: {counted} in {watched}", *map(str, self.findings)]
        parts += [f"rule {name} could not be followed: {type(error).__name__}: {error}" for name, error in self.failures.items()]
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"

    def __repr__(self) -> str:
        return f"<Doctor: {len(self.findings)} findings>"


class OptimizerFacts:
    """What is known of an optimizer."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = weakref.ref(optimizer)
        self.steps = 0
        self.made: Site | None = None
        self.stepped: Site | None = None  # the line that called `step` last
        self._parameters = [weakref.ref(parameter) for parameter in optimizer._all_params()]

    def parameters(self) -> list[Tensor]:
        optimizer = self.optimizer()
        return [one for known in self._parameters if (one := known()) is not None] if optimizer is None else optimizer._all_params()


def doctor(*subjects: Any, ignore: Iterable[str] = ()) -> Doctor:
    """Watch a training and find mistakes that no error tells: a context manager for a block, or, given a function, a call of it.

    >>> import adjoint as ad
    >>> w = ad.ones(2, requires_grad=True)
    >>> optimizer = ad.optim.SGD([w], lr=0.1)
    >>> with ad.doctor() as doctor:
    ...     for _ in range(4):
    ...         (w * w).sum().backward()
    ...         optimizer.step()
    >>> [finding.rule for finding in doctor.findings]
    ['missing-zero-grad']
    """
    if len(subjects) == 1 and callable(subjects[0]) and not isinstance(subjects[0], Module):
        with Doctor(ignore=ignore) as made:
            subjects[0]()
        return made
    return Doctor(*subjects, ignore=ignore)
