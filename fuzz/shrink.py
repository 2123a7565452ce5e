"""Making a failing program smaller, as long as it fails: fewer steps, smaller tensors, plainer arguments."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from .program import Index, Leaf, Program, Ref, Step, changed_step, walk


def shrink(program: Program, fails: Callable[[Program], bool], seconds: float = 60.0) -> Program:
    """The smallest program found that still fails."""
    end = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for candidate in smaller(program):
            if time.monotonic() > end:
                return program
            if fails(candidate):
                program, progress = candidate, True
                break
    return program


def smaller(program: Program) -> Iterator[Program]:
    """Programs that are a little simpler, the boldest first."""
    for cut in (len(program) // 2, len(program) // 4):
        if cut > 1:
            for start in range(0, len(program), cut):
                yield without(program, {step.number for step in program[start : start + cut]})
    for step in reversed(program):
        yield without(program, {step.number})
        yield from bypassed(program, step)
    sizes = {size for value in leaves(program) for size in value.shape if size > 1}
    for size in sorted(sizes, reverse=True):
        for less in {1, 2, size - 1} - {size}:
            yield with_leaves(program, partial(resized, old=size, new=less))
    for place, step in enumerate(program):
        for simpler in simpler_steps(step):
            yield (*program[:place], simpler, *program[place + 1 :])


def without(program: Program, numbers: set[int]) -> Program:
    """The program without some steps, and all that use them."""
    kept: list[Step] = []
    gone = set(numbers)
    for step in program:
        if step.number in gone or step.refs() & gone:
            gone.add(step.number)
        else:
            kept.append(step)
    return tuple(kept)


def bypassed(program: Program, step: Step) -> Iterator[Program]:
    """The program without a step whose result is replaced by one of its operands."""
    for operand in sorted(step.refs()):
        rest = tuple(other for other in program if other is not step)
        yield tuple(changed_step(other, partial(renamed, old=step.number, new=operand)) for other in rest)


def renamed(value: Any, old: int, new: int) -> Any:
    return Ref(new) if value == Ref(old) else value


def leaves(program: Program) -> Iterator[Leaf]:
    for step in program:
        yield from (value for value in walk((step.args, step.kwargs)) if isinstance(value, Leaf))
        yield from leaves(step.body)


def with_leaves(program: Program, change: Callable[[Leaf], Leaf]) -> Program:
    return tuple(changed_step(step, lambda value: change(value) if isinstance(value, Leaf) else value) for step in program)


def resized(leaf: Leaf, old: int, new: int) -> Leaf:
    return replace(leaf, shape=tuple(new if size == old else size for size in leaf.shape))


def simpler_steps(step: Step) -> Iterator[Step]:
    for number, inner in enumerate(step.body):
        yield replace(step, body=without(step.body, {inner.number}))
        for operand in sorted(inner.refs()):
            rest = step.body[:number] + step.body[number + 1 :]
            yield changed_step(replace(step, body=rest), partial(renamed, old=inner.number, new=operand))
        for simpler in simpler_steps(inner):
            yield replace(step, body=(*step.body[:number], simpler, *step.body[number + 1 :]))
    for name in step.kwargs:
        yield replace(step, kwargs={key: value for key, value in step.kwargs.items() if key != name})
    for place, value in enumerate(step.args):
        for simpler in simpler_values(value):
            yield replace(step, args=(*step.args[:place], simpler, *step.args[place + 1 :]))
    for name, value in step.kwargs.items():
        for simpler in simpler_values(value):
            yield replace(step, kwargs=step.kwargs | {name: simpler})


def simpler_values(value: Any) -> Iterator[Any]:
    """Values that are plainer, each less so than the one it comes from: the search ends."""
    if isinstance(value, Leaf):
        yield from simpler_leaves(value)
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            if len(value) > 1:
                yield type(value)([*value[:place], *value[place + 1 :]])
            for simpler in simpler_values(item):
                yield type(value)([*value[:place], simpler, *value[place + 1 :]])
    elif isinstance(value, Index):
        yield from (Index(items) for items in simpler_values(value.items))
    elif isinstance(value, bool):
        return
    elif isinstance(value, int) and abs(value) > 1:
        yield from (number for number in (0, 1, value // 2) if abs(number) < abs(value))
    elif isinstance(value, float) and value not in (0.0, 1.0, 2.0) and value == value:
        yield from (1.0, 2.0)


def simpler_leaves(leaf: Leaf) -> Iterator[Leaf]:
    if leaf.layout:
        yield replace(leaf, layout="")
    if leaf.grad:
        yield replace(leaf, grad=False)
    for place in range(len(leaf.shape)):
        yield replace(leaf, shape=leaf.shape[:place] + leaf.shape[place + 1 :])
        if leaf.shape[place] > 1:
            for less in {1, leaf.shape[place] // 2, leaf.shape[place] - 1}:
                yield replace(leaf, shape=(*leaf.shape[:place], less, *leaf.shape[place + 1 :]))
    if leaf.values is None:
        floating = leaf.dtype.startswith(("float", "bfloat", "complex"))
        yield replace(leaf, values=(1.0,) if floating else (1,))
        yield replace(leaf, values=(1.0, 2.0, 3.0, 4.0) if floating else (1, 0))
    elif len(leaf.values) > 1:
        for place in range(len(leaf.values)):
            yield replace(leaf, values=leaf.values[:place] + leaf.values[place + 1 :])
    if leaf.values is None and leaf.seed:
        yield replace(leaf, seed=0)
