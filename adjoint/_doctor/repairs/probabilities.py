"""Repairs of softmaxes: one too many, one without its logarithm, one along the wrong dimension."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .arguments import constructor
from .registry import Change, Diagnosis, Program, repairs
from .source import ByHandError, Edit, Place, Source

SAME_ORDER = ("argmax", "max", "topk", "sort", "argsort")  # methods for which scores do as well as probabilities
THRESHOLDS = ("> 0.5", ">= 0.5", ">0.5", ".round()", "torch.round(", "ad.round(")


@repairs("softmax-twice")
def remove_softmax(found: Diagnosis, program: Program) -> Iterator[Change]:
    place = found.place("probabilities")
    source = program.source(place)
    sigmoid = "sigmoid" in found.fix
    if sigmoid and any(text in source.text for text in THRESHOLDS):
        raise ByHandError(
            "give the loss the scores before the sigmoid, and compare scores with 0 where probabilities are compared with 0.5"
        )
    call, kinds = source.call(place), ("sigmoid",) if sigmoid else ("softmax", "exp")
    if call is not None and (scores := operand(source, call, kinds)) is not None:
        if "prob" in (name := getattr(source.scope(call), "name", "")):
            raise ByHandError(f"give the loss the scores before the {kinds[0]}: {name}() should go on giving probabilities")
        if others := other_uses(source, call, program.source(found.place("loss")), found.place("loss")):
            raise ByHandError(f"give the loss the scores before the {kinds[0]}: the probabilities are used in line {others[0]} too")
        yield source, [source.replaced(call, source.code(scores))]
        return
    layer = layer_of(source, ("Sigmoid",) if sigmoid else ("Softmax",))
    if layer is None:
        raise ByHandError(found.fix)
    yield source, [without_element(source, layer)]


@repairs("nll-of-probabilities")
def take_logarithm(found: Diagnosis, program: Program) -> Iterator[Change]:
    place = found.place("loss")
    source = program.source(place)
    soft = [call for call in source.nodes(ast.Call) if function_name(call) in ("softmax", "Softmax")]
    loss = source.call(place)
    near = [call for call in soft if loss is not None and call in source.nodes(ast.Call, loss)]
    given = loss.args[0].id if loss is not None and loss.args and isinstance(loss.args[0], ast.Name) else ""
    assigned = [
        node.value for node in source.nodes(ast.Assign, source.scope(loss or source.tree)) if given in map(ast.unparse, node.targets)
    ]
    last = [call for call in soft if isinstance(source.parent(call), ast.Return) or is_last_layer(source, call)]
    for some in (near, [call for call in soft if call in assigned], last):
        if len(some) == 1:
            name = some[0].func
            end = source.span(name)[1]
            start = end - len("softmax")
            yield source, [Edit(start, end, "LogSoftmax" if source.text[start] == "S" else "log_softmax")]
            return
    raise ByHandError(found.fix)


@repairs("softmax-over-batch")
def along_classes(found: Diagnosis, program: Program) -> Iterator[Change]:
    place = found.place("softmax")
    source = program.source(place)
    call = source.call(place)
    if call is None or function_name(call) not in ("softmax", "log_softmax"):
        made = None if call is None else constructor(source, call.func)
        layers = [one for one in source.nodes(ast.Call) if function_name(one) in ("Softmax", "LogSoftmax") and dimension(one) is not None]
        call = made if made in layers else layers[0] if len(layers) == 1 else None
    number = None if call is None else dimension(call)
    if number is None:
        raise ByHandError(found.fix)
    yield source, [source.replaced(number, "1" if source.code(number) == "0" else "-1")]


# ---- where softmaxes are ----------------------------------------------------------------------------------------------------------------


def function_name(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def dimension(call: ast.Call) -> ast.expr | None:
    """The argument of a softmax that is 0 or -2."""
    named = [keyword.value for keyword in call.keywords if keyword.arg == "dim"]
    return next((node for node in [*named, *call.args] if ast.unparse(node) in ("0", "-2")), None)


def operand(source: Source, call: ast.Call, kinds: tuple[str, ...]) -> ast.expr | None:
    """What a softmax is taken of: x in `F.softmax(x, dim=1)`, `x.softmax(1)` and `self.softmax(x)`; None if the call is none."""
    name = function_name(call)
    if name in kinds:
        assert isinstance(call.func, ast.Attribute | ast.Name)
        if isinstance(call.func, ast.Attribute) and not is_module(source, call.func.value):
            return call.func.value
        return call.args[0] if call.args else None
    layer = call.func if isinstance(call.func, ast.Call) else constructor(source, call.func)
    is_layer = layer is not None and function_name(layer) in [kind.capitalize() for kind in kinds]
    return call.args[0] if is_layer and len(call.args) == 1 else None


def is_module(source: Source, node: ast.expr) -> bool:
    """Whether a name was imported: `F`, `torch`, `nn.functional`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    imported = {alias.asname or alias.name.split(".")[0] for one in source.nodes((ast.Import, ast.ImportFrom)) for alias in one.names}
    return isinstance(node, ast.Name) and node.id in imported


def other_uses(source: Source, call: ast.Call, loss_source: Source, loss: Place) -> list[int]:
    """The lines that need probabilities, of a variable that holds them, besides the loss."""
    assignment = source.parent(call)
    if not (isinstance(assignment, ast.Assign) and len(assignment.targets) == 1 and isinstance(assignment.targets[0], ast.Name)):
        return []
    name, lines = assignment.targets[0].id, []
    for node in source.nodes(ast.Name, source.scope(assignment)):
        above = source.parent(node)
        ordered = isinstance(above, ast.Attribute) and above.attr in SAME_ORDER
        in_loss = source is loss_source and loss.line <= node.lineno <= loss.end_line
        if node.id == name and isinstance(node.ctx, ast.Load) and not ordered and not in_loss and not isinstance(above, ast.Return):
            lines.append(node.lineno)
    return lines


def is_last_layer(source: Source, call: ast.Call) -> bool:
    above = source.parent(call)
    return isinstance(above, ast.Call) and function_name(above) == "Sequential" and bool(above.args) and above.args[-1] is call


def layer_of(source: Source, kinds: tuple[str, ...]) -> ast.Call | None:
    """The one layer of a kind at the end of an `nn.Sequential(...)`."""
    found = [call for call in source.nodes(ast.Call) if function_name(call) in kinds and is_last_layer(source, call)]
    return found[0] if len(found) == 1 else None


def without_element(source: Source, layer: ast.Call) -> Edit:
    """A call without its last argument: without the line of it, or without it and the comma before."""
    sequence = source.parent(layer)
    assert isinstance(sequence, ast.Call) and layer.end_lineno is not None
    if len(sequence.args) == 1:
        raise ByHandError("the model is nothing but this layer")
    start, end = source.span(layer)
    line, line_end = source.offset(layer.lineno, 0), source.line_end(layer.end_lineno)
    if re.fullmatch(r"\s*,?\s*(#.*\s*)?", source.text[end:line_end]) and not source.text[line:start].strip():
        return Edit(line, line_end, "")
    return Edit(source.span(sequence.args[-2])[1], end, "")
