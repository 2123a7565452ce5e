"""Repairs of modes: `train()` where a model is trained, `eval()` where it is evaluated."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .registry import Change, Diagnosis, Program, repairs
from .source import ByHandError, Function


@repairs("trains-in-eval")
def insert_train(found: Diagnosis, program: Program) -> Iterator[Change]:
    evaluated, place = found.place("eval"), found.place("backward")
    source = program.source(place)
    backward = source.statement(place)
    scope = source.scope(backward)
    other = program.source(evaluated)
    call = other.call(evaluated)
    if call is None or not isinstance(call.func, ast.Attribute):
        raise ByHandError(found.fix)
    model = ast.unparse(call.func.value)
    if not any(ast.unparse(one.func) == model for one in source.nodes(ast.Call, scope)):
        raise ByHandError(f"{found.fix}: where backward() is called, {model} has another name")
    train = f"{model}.train()"
    for loop in reversed(source.loops(backward)):  # the outermost first: once per epoch is enough, unless it is evaluated in between
        once = [one for one in source.block(loop) if one.lineno < loop.lineno and isinstance(one, ast.Expr) and source.code(one) == train]
        yield source, source.moved(once[-1], before=loop.body[0]) if once else [source.before(loop.body[0], train)]
    if isinstance(scope, Function):
        yield source, [source.before(first_statement(scope), train)]


@repairs("evaluates-in-train")
def insert_eval(found: Diagnosis, program: Program) -> Iterator[Change]:
    place = found.place("call")
    source = program.source(place)
    call = source.call(place)
    if call is None or not isinstance(call.func, ast.Name | ast.Attribute):
        raise ByHandError(found.fix)
    code = f"{source.code(call.func)}.eval()"
    statement = source.statement(place)
    for block in source.around(call, ast.With, Function):
        if isinstance(block, ast.With) and is_no_grad(block):
            yield source, [source.before(block, code)]
            return
        if isinstance(block, Function):
            if any("no_grad" in ast.unparse(decorator) or "inference_mode" in ast.unparse(decorator) for decorator in block.decorator_list):
                yield source, [source.before(first_statement(block), code)]
                return
            break
    yield source, [source.before(statement, code)]


def is_no_grad(block: ast.With) -> bool:
    return any(name in ast.unparse(item.context_expr) for item in block.items for name in ("no_grad", "inference_mode", "set_grad_enabled"))


def first_statement(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
    """The first statement after the docstring."""
    first = function.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return function.body[1] if is_docstring and len(function.body) > 1 else first
