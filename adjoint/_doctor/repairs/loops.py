"""Repairs of training loops: the order of `zero_grad`, `backward`, the clipping of gradients, `step`, and the steps of schedulers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .registry import Change, Diagnosis, Program, repairs
from .source import ByHandError, Edit, Source


@repairs("missing-zero-grad")
def insert_zero_grad(found: Diagnosis, program: Program) -> Iterator[Change]:
    backward_place, step_place = found.place("backward"), found.place("step")
    source = program.source(step_place)
    step = source.statement(step_place)
    optimizer = stepping(source, source.call(step_place))
    if program.source(backward_place) is source:
        backward = source.statement(backward_place)
        closure = source.scope(backward) is not source.scope(step) and any(
            isinstance(argument, ast.Name) and argument.id == getattr(source.scope(backward), "name", None)
            for call in source.nodes(ast.Call, step)
            for argument in call.args
        )
        if closure or (source.scope(backward) is source.scope(step) and step in source.block(backward)):
            first = first_backward(source, backward)
            yield source, [source.before(first, f"{name}.zero_grad()") for name in [optimizer, *forgotten(source, step, optimizer)]]
            return
    yield source, [source.after(step, f"{optimizer}.zero_grad()")]  # where gradients add up over several passes, or a helper makes the step


@repairs("zero-before-step")
def move_zero_grad(found: Diagnosis, program: Program) -> Iterator[Change]:
    place = found.place("zero_grad")
    source = program.source(place)
    moving = alone(source, source.statement(place))
    block = source.block(moving)
    earlier = [statement for statement in block[: block.index(moving)] if calls(source, statement, "backward")]
    if earlier:
        yield source, source.moved(moving, before=first_backward(source, earlier[-1]))
    later = [statement for statement in block[block.index(moving) + 1 :] if calls(source, statement, "step")]
    if later:
        yield source, source.moved(moving, after=later[-1])
    if not earlier and not later:
        raise ByHandError(found.fix)


@repairs("clip-without-effect")
def move_clip(found: Diagnosis, program: Program) -> Iterator[Change]:
    place = found.place("clip")
    source = program.source(place)
    moving = source.statement(place)
    if "generator" in found.message:
        yield source, [kept_in_a_list(source, source.call(place), found)]
        return
    block = source.block(moving)
    steps = [statement for statement in block if calls(source, statement, "step") and not is_scheduler(source, statement)]
    behind = block[block.index(moving) + 1 :]
    step = next((one for one in steps if one in behind and has_between(source, block, moving, one)), None) or next(
        (one for one in reversed(steps) if one not in behind), None
    )
    if step is None:
        raise ByHandError(found.fix)
    yield source, source.moved(moving, before=step)


@repairs("never-stepped")
def insert_step(found: Diagnosis, program: Program) -> Iterator[Change]:
    made, place = found.place("optimizer"), found.place("backward")
    source = program.source(place)
    backward = source.statement(place)
    assignment = program.source(made).statement(made)
    if not (
        isinstance(assignment, ast.Assign) and len(assignment.targets) == 1 and isinstance(assignment.targets[0], ast.Name | ast.Attribute)
    ):
        raise ByHandError(found.fix)
    optimizer = ast.unparse(assignment.targets[0])
    scope = source.scope(backward)
    for statement in source.nodes(ast.Expr, scope):  # the parentheses were forgotten
        if isinstance(statement.value, ast.Attribute) and ast.unparse(statement.value) == f"{optimizer}.step":
            yield source, [source.with_suffix(statement.value, "()")]
            return
    if not source.mentions(scope, optimizer) and assignment not in source.tree.body:
        raise ByHandError(f"{found.fix}: {optimizer} is not known where backward() is called")
    block = source.block(backward)
    behind = block[block.index(backward) + 1 :]
    if (other := stepped_twice(source, block, backward)) is not None:
        yield source, [source.replaced(other, optimizer)]
    last = backward
    for statement in behind:
        if not any("clip_grad" in ast.unparse(call.func) for call in source.nodes(ast.Call, statement)):
            break
        last = statement
    yield source, [source.after(last, f"{optimizer}.step()")]


@repairs("step-order")
def move_scheduler(found: Diagnosis, program: Program) -> Iterator[Change]:
    place = found.place("scheduler")
    source = program.source(place)
    moving = source.statement(place)
    if "before optimizer" in found.message:
        block = source.block(moving)
        steps = [statement for statement in block[block.index(moving) + 1 :] if calls(source, statement, "step")]
        if not steps:
            raise ByHandError(found.fix)
        yield source, source.moved(moving, after=steps[-1])
        return
    loops = source.loops(moving)
    inside = source.scope(moving) is not source.tree
    if not loops or (len(loops) < 2 and not inside) or moving not in loops[0].body:
        raise ByHandError(found.fix)
    yield source, source.moved(moving, after=loops[0])


# ---- what stands where ------------------------------------------------------------------------------------------------------------------


def calls(source: Source, statement: ast.stmt, method: str) -> list[ast.Call]:
    """The calls of a method in a statement, and in those inside it."""
    return [call for call in source.nodes(ast.Call, statement) if isinstance(call.func, ast.Attribute) and call.func.attr == method]


def is_scheduler(source: Source, statement: ast.stmt) -> bool:
    return all("sched" in ast.unparse(call.func).lower() for call in calls(source, statement, "step"))


def stepped_twice(source: Source, block: list[ast.stmt], backward: ast.stmt) -> ast.expr | None:
    """The optimizer in the line after `backward()` that has made its step before already: mostly another one is meant."""
    place = block.index(backward)
    steps = [call.func for one in block[place + 1 : place + 2] for call in calls(source, one, "step")]
    earlier = {ast.unparse(call.func) for one in block[:place] for call in calls(source, one, "step")}
    owners = [function.value for function in steps if isinstance(function, ast.Attribute) and ast.unparse(function) in earlier]
    return owners[0] if owners else None


def stepping(source: Source, call: ast.Call | None) -> str:
    """The optimizer of `optimizer.step()`, or of `scaler.step(optimizer)`, as it is written there."""
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "step":
        raise ByHandError("call zero_grad() of the optimizer before backward(): the line with step() does not tell its name")
    scaled = bool(call.args) and "scaler" in ast.unparse(call.func.value).lower()
    return source.code(call.args[0] if scaled else call.func.value)


def forgotten(source: Source, step: ast.stmt, optimizer: str) -> list[str]:
    """Other optimizers with a step among the same statements, whose `zero_grad` the file never calls either."""
    steps = [one for one in source.block(step) if isinstance(one, ast.Expr) and not is_scheduler(source, one)]
    names = [source.code(call.func.value) for one in steps for call in calls(source, one, "step") if isinstance(call.func, ast.Attribute)]
    return [name for name in dict.fromkeys(names) if name != optimizer and f"{name}.zero_grad" not in source.text and "scaler" not in name]


def first_backward(source: Source, backward: ast.stmt) -> ast.stmt:
    """The first of several `backward()` in a row, whose gradients are meant to add up: none of them with a step before the next."""
    block = source.block(backward)
    first = backward
    for statement in reversed(block[: block.index(backward)]):
        if calls(source, statement, "step"):
            break
        if calls(source, statement, "backward"):
            first = statement
    return first


def has_between(source: Source, block: list[ast.stmt], first: ast.stmt, last: ast.stmt) -> bool:
    return any(calls(source, one, "backward") for one in block[block.index(first) : block.index(last)])


def alone(source: Source, statement: ast.stmt) -> ast.stmt:
    """A statement, or the loop that has nothing else in it."""
    above = source.parent(statement)
    while isinstance(above, ast.For) and above.body == [statement] and not above.orelse:
        statement, above = above, source.parent(above)
    return statement


def kept_in_a_list(source: Source, call: ast.Call | None, found: Diagnosis) -> Edit:
    """`params = model.parameters()`, which can be read only once, as a list."""
    given = call.args[0] if call is not None and call.args else None
    if isinstance(given, ast.Name):
        made = [
            node for node in source.nodes(ast.Assign)
            if len(node.targets) == 1 and ast.unparse(node.targets[0]) == given.id and isinstance(node.value, ast.Call)
        ]  # fmt: skip
        if len(made) == 1:
            return source.replaced(made[0].value, f"list({source.code(made[0].value)})")
    raise ByHandError(found.fix)
