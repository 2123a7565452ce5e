"""Repairs of parameters that no optimizer has: layers in plain lists, modules that were forgotten or made too late."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .registry import Change, Diagnosis, Program, repairs
from .source import ByHandError, Edit, Place, Source


@repairs("not-in-optimizer")
def give_to_optimizer(found: Diagnosis, program: Program) -> Iterator[Change]:
    place = found.place("optimizer")
    used = program.source(found.place("used"))
    if (edit := registered_list(used, used.statement(found.place("used")))) is not None:
        yield used, [edit]
        return
    source = program.source(place)
    made = found.places.get("made")
    if made is None or program.source(made) is not source:
        raise ByHandError(found.fix)
    optimizer, module = source.statement(place), source.statement(made)
    target = module.targets[0] if isinstance(module, ast.Assign) and len(module.targets) == 1 else None
    if not isinstance(target, ast.Name | ast.Attribute) or module not in source.block(optimizer):
        raise ByHandError(found.fix)
    if module.lineno > optimizer.lineno:  # made when the optimizer had been given the parameters already
        yield source, source.moved(optimizer, after=module)
    else:
        yield source, [with_parameters(source, place, source.code(target), found)]


def registered_list(source: Source, use: ast.stmt) -> Edit | None:
    """`self.layers = [...]` as an `nn.ModuleList`, if the class has one such list of layers, or the expression that fills it."""
    owner = source.owner(use)
    if owner is None:
        return None
    lists = []
    for assignment in source.nodes(ast.Assign, owner):
        name = ast.unparse(assignment.targets[0])
        if name.startswith("self.") and isinstance(assignment.value, ast.List | ast.ListComp | ast.Dict | ast.DictComp):
            made = [assignment.value, *filled(source, owner, name)]
            if any(is_layer(call) for value in made for call in source.nodes(ast.Call, value)):
                lists.append(assignment)
    if len(lists) != 1:
        return None
    value = lists[0].value
    parts = [
        name
        for node in (value, *filled(source, owner, ast.unparse(lists[0].targets[0])))
        for name in map(name_of, source.nodes(ast.Call, node))
    ]
    kind = "Parameter" if "Parameter" in parts else "Module"
    container = f"{source.nn()}.{kind}{'Dict' if isinstance(value, ast.Dict | ast.DictComp) else 'List'}"
    empty = source.code(value)[1:-1].strip() == ""
    return source.replaced(value, f"{container}({'' if empty else source.code(value)})")


def filled(source: Source, owner: ast.ClassDef, name: str) -> list[ast.expr]:
    """What is put into a list or dict afterwards: `self.layers.append(x)`, `self.heads[name] = x`."""
    added = [
        call.args[0]
        for call in source.nodes(ast.Call, owner)
        if ast.unparse(call.func) in (f"{name}.append", f"{name}.extend") and call.args
    ]
    items = [
        node.value for node in source.nodes(ast.Assign, owner)
        if isinstance(node.targets[0], ast.Subscript) and ast.unparse(node.targets[0].value) == name
    ]  # fmt: skip
    return [*added, *items]


def name_of(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def is_layer(call: ast.Call) -> bool:
    """Whether a call makes something of a class, by its name."""
    return name_of(call)[:1].isupper()


def with_parameters(source: Source, place: Place, module: str, found: Diagnosis) -> Edit:
    """An optimizer that is given the parameters of one module more."""
    call = source.call(place)
    given = call.args[0] if call is not None and call.args else None
    more = f"*{module}.parameters()"
    if isinstance(given, ast.List) and given.elts and not any(isinstance(element, ast.Dict) for element in given.elts):
        end = source.span(given.elts[-1])[1]
        return Edit(end, end, f", {more}")
    if isinstance(given, ast.Call) and ast.unparse(given.func).endswith(".parameters"):
        return source.replaced(given, f"[*{source.code(given)}, {more}]")
    raise ByHandError(found.fix)
