"""The derivative rules of ops as text: what their declarations say."""

from __future__ import annotations

import ast
from functools import cache
from inspect import unwrap
from pathlib import Path
from types import FunctionType
from typing import Any


@cache
def functions_in(path: str) -> dict[int, list[ast.Lambda | ast.FunctionDef]]:
    """The functions of a file, by their first lines."""
    made: dict[int, list[ast.Lambda | ast.FunctionDef]] = {}
    for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Lambda | ast.FunctionDef):
            made.setdefault(node.lineno, []).append(node)
    return made


def rule_text(rule: Any) -> str:
    """The expression that a rule returns; the name of the rule where it takes more than one line."""
    if not isinstance(rule, FunctionType):
        return ""
    code = unwrap(rule).__code__  # of a primitive, its text
    names = list(code.co_varnames[: code.co_argcount])
    columns = {start for line, _, start, _ in code.co_positions() if line == code.co_firstlineno and start}
    for node in functions_in(code.co_filename).get(code.co_firstlineno, []):
        if [arg.arg for arg in node.args.args] != names:
            continue
        if isinstance(node, ast.FunctionDef):
            statements = [line for line in node.body if not isinstance(line, ast.Expr)]
            if len(statements) == 1 and isinstance(statements[0], ast.Return) and statements[0].value is not None:
                return ast.unparse(statements[0].value)
            return f"{node.name}({', '.join(names)})"
        body = node.body
        ends = body.end_col_offset if body.end_lineno == node.lineno else None
        if not columns or any(node.col_offset <= column and (ends is None or column < ends) for column in columns):
            return ast.unparse(body)
    return ""


def rules_of(op: Any) -> list[tuple[str, str]]:
    """For each input its gradient, as the declaration says; nothing for an op without derivatives."""
    told = [(name, rule_text(rule)) for name, rule in op.rules.items()]
    if op.joint is not None:
        told.append((", ".join(name for name in op.inputs if op.differentiates(name)), rule_text(op.joint)))
    return [(name, text) for name, text in told if text]
