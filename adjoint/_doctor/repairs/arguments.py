"""Repairs of one argument of a call: `create_graph`, `shuffle`, `batch_first`, `training`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .registry import Change, Diagnosis, Program, repairs
from .source import ByHandError, Place, Source


@repairs("penalty-without-graph")
def create_graph(found: Diagnosis, program: Program) -> Iterator[Change]:
    place = found.place("grad")
    source = program.source(place)
    call = source.call(place)
    if call is None or not ast.unparse(call.func).endswith("grad"):
        raise ByHandError(found.fix)
    yield source, [source.with_keyword(call, "create_graph", "True", 4)]


@repairs("sorted-batches")
def shuffle(found: Diagnosis, program: Program) -> Iterator[Change]:
    place = found.place("loader")
    source = program.source(place)
    call = source.call(place)
    if call is None or "Loader" not in ast.unparse(call.func):
        raise ByHandError(found.fix)
    if any(keyword.arg in ("sampler", "batch_sampler") for keyword in call.keywords):
        raise ByHandError("let the sampler mix the classes: the loader has one of its own, so that shuffle=True does not apply")
    yield source, [source.with_keyword(call, "shuffle", "True", 2)]


@repairs("samples-mixed")
def keep_samples_apart(found: Diagnosis, program: Program) -> Iterator[Change]:
    for role in found.places:
        if role.startswith("reshape") and (change := transposed(program.source(found.places[role]), found.places[role])) is not None:
            yield change
            return
    place = found.place("takes time steps first")
    source = program.source(place)
    call = source.call(place)
    made = None if call is None else constructor(source, call.func)
    if made is None:
        raise ByHandError(found.fix)
    yield source, [source.with_keyword(made, "batch_first", "True")]


@repairs("dropout-in-eval")
def training_flag(found: Diagnosis, program: Program) -> Iterator[Change]:
    place = found.place("dropout")
    source = program.source(place)
    call = source.call(place)
    if call is None or not source.has_self(call):
        raise ByHandError(found.fix)
    if isinstance(call.func, ast.Call):  # nn.Dropout(0.4)(x): a module made for this one call, which is always in training
        made = call.func
        name = source.code(made.func)
        given = [*map(source.code, made.args), *(f"{keyword.arg}={source.code(keyword.value)}" for keyword in made.keywords)]
        if not name.endswith("nn.Dropout") or len(call.args) != 1 or len(given) > 1:
            raise ByHandError("make the dropout layer once, in __init__")
        arguments = ", ".join([source.code(call.args[0]), *given, "training=self.training"])
        yield source, [source.replaced(call, f"{name.removesuffix('Dropout')}functional.dropout({arguments})")]
    elif "dropout" in ast.unparse(call.func).rpartition(".")[2]:
        yield source, [source.with_keyword(call, "training", "self.training", 2)]
    else:
        raise ByHandError(found.fix)


def transposed(source: Source, place: Place) -> Change | None:
    """`x.view(length, batch, size)` after `batch, length, size = x.shape`, which means a transposition."""
    call = source.call(place)
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr not in ("view", "reshape"):
        return None
    x, wanted = ast.unparse(call.func.value), [*map(ast.unparse, call.args)]
    for node in source.nodes(ast.Assign, source.scope(call)):
        if isinstance(node.targets[0], ast.Tuple) and ast.unparse(node.value) in (f"{x}.shape", f"{x}.size()"):
            names = [*map(ast.unparse, node.targets[0].elts)]
            places = [place for place, (old, new) in enumerate(zip(names, wanted, strict=False)) if old != new]
            if sorted(names) == sorted(wanted) and len(set(names)) == len(names) and len(places) == 2:
                return source, [source.replaced(call, f"{source.code(call.func.value)}.transpose({places[0]}, {places[1]})")]
    return None


def constructor(source: Source, function: ast.expr) -> ast.Call | None:
    """The call that made what is called here: of `self.rnn(x)` the `nn.GRU(...)` of `self.rnn = nn.GRU(...)`, if there is one such line."""
    scope: ast.AST = source.tree
    if isinstance(function, ast.Attribute):
        scope = source.owner(function) or source.tree
    name = ast.unparse(function)
    made = [
        node.value
        for node in source.nodes(ast.Assign, scope)
        if name in map(ast.unparse, node.targets) and isinstance(node.value, ast.Call)
    ]
    return made[0] if len(made) == 1 else None
