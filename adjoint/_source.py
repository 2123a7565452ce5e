"""What the source of the program says: which name it has for adjoint, which variable a line assigns, how a write in place would be written
otherwise. Read when a message is made, and not before."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Iterator
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType
from typing import Any

from ._site import Site, user_frame

# ---- names ------------------------------------------------------------------------------------------------------------------------------


def running() -> Iterator[FrameType]:
    """The frames of the program that is running, the innermost first."""
    frame: FrameType | None = user_frame(sys._getframe(1))
    while frame is not None:
        yield frame
        frame = frame.f_back


def local_variables(frame: FrameType) -> dict[str, Any]:
    """The local variables of a function. Before Python 3.13 the frame keeps what it shows, and with it tensors that are deleted later."""
    found = frame.f_locals
    names = dict(found)
    if sys.version_info < (3, 13) and frame.f_code.co_flags & CO_OPTIMIZED:
        found.clear()  # a copy
    return names


def variables() -> Iterator[tuple[str, Any]]:
    """The variables of the functions that are running and of their modules, the innermost first. (`self` says nothing.)"""
    for frame in running():
        for name, value in (*local_variables(frame).items(), *frame.f_globals.items()):
            if name.isidentifier() and not name.startswith("_") and name != "self":
                yield name, value


def variable_of(thing: Any) -> str:
    """The name under which the program knows something."""
    return next((name for name, value in variables() if value is thing), "")


def called(value: Any, otherwise: str) -> str:
    """What the program calls a tensor, or the one that holds an array: its variable, or its name in a model."""
    from ._tensor import Parameter, Tensor

    for name, found in variables():
        if issubclass(type(found), Tensor) and (found is value or found._data is value):
            return name
    if isinstance(value, Parameter):
        from .nn._owners import name_of

        return name_of(value) or otherwise
    return otherwise


def converted(name: str, dtype: Any) -> str:
    """How something is converted: `x.float()`."""
    method = {"float32": "float", "float64": "double", "int64": "long", "bool": "bool"}.get(dtype.name)
    return f"{name}.{method}()" if method else f"{name}.to({dtype})"


def in_own_words(fix: str) -> str:
    """Advice with the name that the program has for adjoint, in place of `torch`."""
    name = variable_of(sys.modules[__package__]) if "torch." in fix else ""
    return re.sub(r"\btorch\.(?=\w)", f"{name}.", fix) if name else fix


# ---- statements -------------------------------------------------------------------------------------------------------------------------


def statements_of(filename: str) -> list[ast.stmt]:
    """All statements of a file, outer ones before inner ones; none where there is no source."""
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return []
    return sorted((node for node in ast.walk(tree) if isinstance(node, ast.stmt)), key=lambda node: (node.lineno, -last_line(node)))


def last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def statements_at(site: Site) -> list[ast.stmt]:
    """The statements that contain a line, from the outermost to the innermost."""
    return [node for node in statements_of(site.filename) if node.lineno <= site.line <= last_line(node)]


def statements_in(code: CodeType) -> list[ast.stmt]:
    """The statements of a function."""
    lines = {line for _, _, line in code.co_lines() if line is not None}
    return [node for node in statements_of(code.co_filename) if node.lineno in lines]


def simple_statement(site: Site) -> str:
    """A line that is one statement, and not the beginning of a block."""
    statements = statements_at(site)
    simple = ast.Assign | ast.AugAssign | ast.Expr | ast.Return
    return ast.unparse(statements[-1]) if statements and isinstance(statements[-1], simple) else ""


def is_all_of(value: ast.expr | None, site: Site) -> bool:
    """Whether the expression that a site stands for is all of `value`, not a part of it."""
    positions = list(site.code.co_positions())[site.offset // 2] if site.offset >= 0 else None
    return value is not None and positions == (value.lineno, value.end_lineno, value.col_offset, value.end_col_offset)


def assigned_at(site: Site) -> str:
    """The variable that a line assigns its result to, if the result is what the site stands for: `h` for `h = torch.exp(x)`."""
    match statements_at(site)[-1:]:
        case [ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value)] if is_all_of(value, site):
            return ast.unparse(target)
        case [ast.AnnAssign(target=ast.Name() | ast.Attribute() as target, value=value)] if is_all_of(value, site):
            return ast.unparse(target)
        case [ast.AugAssign(target=ast.Name() | ast.Attribute() as target)]:
            return ast.unparse(target)
    return ""


def carried_by(site: Site) -> list[str]:
    """The variables that a line in a loop computes from themselves, as `h` in `h = cell(x, h)`: states, of which old graphs hang."""
    *around, statement = statements_at(site) or [ast.Pass()]
    if not isinstance(statement, ast.Assign) or not any(isinstance(outer, ast.For | ast.While | ast.FunctionDef) for outer in around):
        return []
    names = ast.Name | ast.Attribute
    read = {ast.unparse(node) for node in ast.walk(statement.value) if isinstance(node, names)}
    written = [ast.unparse(node) for target in statement.targets for node in ast.walk(target) if isinstance(node, names)]
    return [name for name in written if name in read and name != "self"]


def is_before_loop(first: Site, inside: Site) -> bool:
    """Whether a line is in the same file as a loop around another line, and not in that loop."""
    loops = [node for node in statements_at(inside) if isinstance(node, ast.For | ast.While)]
    return bool(loops) and first.code is inside.code and not loops[-1].lineno <= first.line <= last_line(loops[-1])


def subtraction_in_place(site: Site) -> str:
    """`w -= lr * w.grad` for a line that is `w = w - lr * w.grad`."""
    match statements_at(site)[-1:]:
        case [ast.Assign(targets=[target], value=ast.BinOp(left, ast.Sub(), right))] if ast.unparse(target) == ast.unparse(left):
            return f"{ast.unparse(target)} -= {ast.unparse(right)}"
    return ""


FILLED = {"zero_": "torch.zeros_like({0})", "fill_": "torch.full_like({0}, {1})", "copy_": "{1}"}


def repair_of_write(site: Site) -> str:
    """What to write in the place of a line that writes in place, so that backward has the values before; empty where that is not clear."""
    *around, statement = statements_at(site) or [ast.Pass()]
    line = f"line {site.line}"
    match statement:
        case ast.Assign(targets=[ast.Subscript(target, index)]) | ast.AugAssign(target=ast.Subscript(target, index)):
            name = ast.unparse(target)
            if any(isinstance(outer, ast.For | ast.While) for outer in around):
                return (
                    f"collect the parts in a list, parts.append(...) in place of {line}, and join them after the loop: "
                    f"{name} = torch.stack(parts{along(index)})"
                )
            return f"write {name} = {name}.clone() before {line}, so that the values before stay there for backward"
        case ast.AugAssign(target=ast.Name() | ast.Attribute() as target, op=operator, value=value):
            return f"write {line} as {ast.unparse(ast.Assign([target], ast.BinOp(target, operator, value), lineno=0))}"
    for call in (node for node in ast.walk(statement) if isinstance(node, ast.Call)):
        if any(keyword.arg == "inplace" for keyword in call.keywords):
            call.keywords = [keyword for keyword in call.keywords if keyword.arg != "inplace"]
            return f"leave inplace=True out on {line}: {ast.unparse(call)}"
        if isinstance(call.func, ast.Attribute) and re.fullmatch(r"[a-z]\w*_", call.func.attr):
            return repair_of_method(call, call.func, statement, line)
    return ""


def along(index: ast.expr) -> str:
    """The dimension that an index with one number picks from, as an argument: `, 1` for `[:, t]`."""
    places = [place for place, one in enumerate(index.elts) if not isinstance(one, ast.Slice)] if isinstance(index, ast.Tuple) else [0]
    return f", {places[0]}" if len(places) == 1 and places[0] else ""


def repair_of_method(call: ast.Call, method: ast.Attribute, statement: ast.stmt, line: str) -> str:
    """The same for `x.add_(1)`."""
    owner, form = method.value, FILLED.get(method.attr, "{0}." + method.attr.rstrip("_") + "({1})")
    if isinstance(owner, ast.Subscript) or not isinstance(owner, ast.Name | ast.Attribute):  # a part, or another tensor on the same memory
        name = next((ast.unparse(node) for node in ast.walk(owner) if isinstance(node, ast.Name)), "")
        return f"write {name} = {name}.clone() before {line}, so that the values before stay there for backward" if name else ""
    arguments = ", ".join(map(ast.unparse, [*call.args, *call.keywords]))
    new = form.format(ast.unparse(owner), arguments)
    return f"write {line} as {ast.unparse(owner)} = {new}" if isinstance(statement, ast.Expr) else f"write {new} on {line}"
