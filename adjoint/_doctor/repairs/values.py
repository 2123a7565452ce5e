"""Repairs of expressions: losses that are kept with their graphs, shapes that broadcast, operations at the edge of their domain."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .registry import Change, Diagnosis, Program, repairs
from .source import ByHandError, Edit, Place, Source

NUMBERS = ("item", "detach", "tolist", "cpu", "numpy", "data")


@repairs("graphs-kept")
def keep_number(found: Diagnosis, program: Program) -> Iterator[Change]:
    place = found.place("kept")
    source = program.source(place)
    statement = source.statement(place)
    loss = backward_of(program, found.places.get("backward"))
    kept = [node for node in source.nodes((ast.Name, ast.Attribute), statement) if is_read(source, node) and ast.unparse(node) == loss]
    kept = kept or value_of(statement)
    if not kept:
        raise ByHandError(found.fix)
    for suffix in (".item()", ".detach()"):  # the second where it is still used as a tensor
        yield source, [source.with_suffix(node, suffix) for node in kept]


@repairs("broadcast")
def squeeze(found: Diagnosis, program: Program) -> Iterator[Change]:
    place = found.place("here")
    source = program.source(place)
    node = source.expression(place)
    match node:
        case ast.BinOp(left=left, right=right):
            operands = [left, right]
        case ast.Call(func=ast.Attribute(value=owner, attr="add" | "sub" | "mul" | "div" | "rsub"), args=[other, *_]):
            operands = [owner, other]
        case ast.Call(args=[first, second, *_]):
            operands = [first, second]
        case _:
            raise ByHandError(found.fix)
    for operand in operands:  # which of them is the column only a run can tell
        yield source, [source.with_suffix(operand, ".squeeze(-1)")]


@repairs("nonfinite")
def rewrite(found: Diagnosis, program: Program) -> Iterator[Change]:
    """The expression that `blame` writes anew."""
    if "log of softmax" in found.message and (change := fused(program, found.place("born"))) is not None:
        yield change
        return
    expression = found.fix.removeprefix("write ")
    try:
        ast.parse(expression, mode="eval")
    except SyntaxError:
        raise ByHandError(found.fix) from None
    tried: set[Place] = set()
    for role, place in found.places.items():
        if role != "backward" and place not in tried:
            tried.add(place)
            source = program.source(place)
            if (node := source.expression(place)) is not None:
                yield source, [smallest(source, node, expression)]
    if not tried:
        raise ByHandError(expression)


def fused(program: Program, place: Place) -> Change | None:
    """`torch.log(p)` after `p = torch.softmax(x, dim)` as `torch.log_softmax(x, dim)`."""
    source = program.source(place)
    call = source.call(place)
    if call is None:
        return None
    names = {node.id for node in source.nodes(ast.Name, call)}
    made = [node for node in source.nodes(ast.Assign, source.scope(call)) if ast.unparse(node.targets[0]) in names]
    value = made[0].value if len(made) == 1 else None
    if not isinstance(value, ast.Call) or not ast.unparse(value.func).endswith(".softmax"):
        return None
    start, end = source.span(value)[0], source.span(value.func)[1]
    function = source.text[start:end].removesuffix("softmax") + "log_softmax"
    return source, [source.replaced(call, function + source.text[end : source.span(value)[1]])]


def backward_of(program: Program, place: Place | None) -> str:
    """The loss of `loss.backward()`, as it is written there."""
    call = None if place is None else program.source(place).call(place)
    return ast.unparse(call.func.value) if call is not None and isinstance(call.func, ast.Attribute) else ""


def is_read(source: Source, node: ast.Name | ast.Attribute) -> bool:
    above = source.parent(node)
    return isinstance(node.ctx, ast.Load) and not (isinstance(above, ast.Attribute) and above.attr in NUMBERS)


def value_of(statement: ast.stmt) -> list[ast.expr]:
    """What a statement keeps: x in `total += x`, `losses.append(x)`."""
    match statement:
        case ast.AugAssign(value=value):
            return [value]
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"), args=[value])) if not isinstance(
            value, ast.Tuple | ast.List | ast.Dict
        ):
            return [value]
        case _:
            return []


def smallest(source: Source, node: ast.expr, text: str) -> Edit:
    """Another text for an expression, without what begins and ends alike."""
    old = source.code(node)
    if ast.unparse(node) != old:
        return source.replaced(node, text)
    start = next((place for place, (a, b) in enumerate(zip(old, text, strict=False)) if a != b), min(len(old), len(text)))
    return Edit(source.span(node)[0] + start, source.span(node)[1], text[start:])
