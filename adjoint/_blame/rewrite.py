"""The guilty expression as it should be written: the user's own code, read from the source line, with the repair put in."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Callable, Iterator

from .._site import Site

FLOOR = "{x}.clamp(min=1e-12)"
INSIDE = "{x}.clamp(-1 + 1e-6, 1 - 1e-6)"
# What to put in the place of the operand that is to blame, by the pattern. Of `a / b` that is `b`, of others the first.
OPERANDS = {
    "log(0)": FLOOR,
    "log of a negative number": FLOOR,
    "sqrt of a negative number": FLOOR,
    "sqrt(0)": "({x} + 1e-12)",
    "norm of zero": "({x} + 1e-12)",
    "rsqrt(0)": "({x} + 1e-12)",
    "log1p(-1)": "{x}.clamp(min=-1 + 1e-6)",
    "division by zero": "({x} + 1e-12)",
    "division by a norm of 0": FLOOR,
    "pow(0, p < 1)": FLOOR,
    "pow(0, p < 0)": FLOOR,
    "pow of a negative number": FLOOR,
    "acos or asin of ±1": INSIDE,
    "acos or asin outside [-1, 1]": INSIDE,
    "acosh(1)": "{x}.clamp(min=1 + 1e-6)",
    "acosh below 1": "{x}.clamp(min=1 + 1e-6)",
    "exp overflow": "{x}.clamp(max=80)",
    "float16 overflow": "{x}.float()",
}
# Arguments to add to the call.
KEYWORDS = {
    "std of one element": ("correction", "0"),
    "logit of 0 or 1": ("eps", "1e-6"),
    "normalisation without variance": ("eps", "1e-5"),
}
# One function of another's result, for which there is one of its own: the inner call is renamed and stays alone.
FUSED = {"log of softmax": ("softmax", "log_softmax"), "log of sigmoid": ("sigmoid", "logsigmoid")}
IMPORT = re.compile(r"\s*import (torch|adjoint)(?: as (\w+))?\s*(?:#|$)")
MODULES = ("torch", "ad", "adjoint", "F", "nn", "math", "special", "functional")


def expression_at(site: Site) -> ast.expr | None:
    """The expression that a site stands for; None where the source is not there."""
    if site.offset < 0:
        return None
    first, last, start, end = list(site.code.co_positions())[site.offset // 2]
    if first is None or last is None or start is None or end is None:
        return None
    lines = [linecache.getline(site.filename, line).encode() for line in range(first, last + 1)]
    if not all(lines):
        return None
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    try:
        return ast.parse(f"({b''.join(lines).decode(errors='replace')})", mode="eval").body
    except SyntaxError:
        return None


def rewritten(pattern: str, op: str, site: Site) -> str:
    """The expression at a site, repaired; empty where that takes more than one line of code tells."""
    expression = expression_at(site)
    if expression is None:
        return ""
    if pattern == "masked":
        where = where_around(site, expression)
        if where is None:
            return ""
        template = f"{ast.unparse(where.func)}({ast.unparse(where.args[0])}, {{x}}, 1.0)"
        return with_operand(expression, op, lambda x: parsed(template, x))
    if pattern in FUSED:
        return fused(site, *FUSED[pattern])
    if pattern == "log of a sum of exp":
        return log_of_sum(site)
    if pattern in KEYWORDS and isinstance(expression, ast.Call) and not in_module_call(expression, op):
        name, value = KEYWORDS[pattern]
        expression.keywords = [k for k in expression.keywords if k.arg not in (name, "unbiased")]
        expression.keywords.append(ast.keyword(name, ast.parse(value, mode="eval").body))
        return ast.unparse(expression)
    repair = OPERANDS.get(pattern, "")
    return with_operand(expression, op, lambda x: parsed(repair, x)) if repair else ""


def parsed(template: str, x: ast.expr) -> ast.expr:
    text = ast.unparse(x)
    atom = isinstance(x, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return ast.parse(template.format(x=text if atom else f"({text})"), mode="eval").body


def with_operand(expression: ast.expr, op: str, repair: Callable[[ast.expr], ast.expr]) -> str:
    """An operation with another operand in the place of the one that is to blame."""
    match expression:
        case ast.BinOp(op=ast.Div()):
            if isinstance(expression.right, ast.Constant):
                return ""
            expression.right = repair(expression.right)
        case ast.BinOp(op=ast.Pow()):
            expression.left = repair(expression.left)
        case ast.Call(func=ast.Attribute(value=owner, attr=name) as method) if same_op(name, op):
            if is_module(owner):
                place = 1 if op == "div" else 0
                if len(expression.args) <= place:
                    return ""
                expression.args[place] = repair(expression.args[place])
            elif op == "div" and expression.args:
                expression.args[0] = repair(expression.args[0])
            else:
                method.value = repair(owner)
        case _:
            return ""
    return ast.unparse(expression)


def same_op(name: str, op: str) -> bool:
    """Whether a function or method is the one of an op: what a module computes inside cannot be changed from outside."""
    return name.rstrip("_") in (op, {"div": "divide"}.get(op))


def in_module_call(call: ast.Call, op: str) -> bool:
    return not (isinstance(call.func, ast.Attribute) and (same_op(call.func.attr, op) or call.func.attr.endswith("_norm")))


def is_module(owner: ast.expr) -> bool:
    """Whether what stands before a dot is a module: `torch`, `F`, `torch.nn.functional`."""
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return isinstance(owner, ast.Name) and owner.id in MODULES


def where_around(site: Site, expression: ast.expr) -> ast.Call | None:
    """The `where(condition, ..., ...)` on the same line that takes this expression."""
    text = ast.unparse(expression)
    for call in calls_on(site):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "where" and len(call.args) == 3:
            if any(ast.unparse(part) == text for part in ast.walk(call.args[1])):
                return call
    return None


def calls_on(site: Site) -> Iterator[ast.Call]:
    """The calls in the statement of a site, if it is on one line."""
    try:
        tree = ast.parse(site.text.removesuffix(":") if site.text.startswith("with ") else site.text)
    except SyntaxError:
        return
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def fused(site: Site, inner: str, name: str) -> str:
    """`softmax(x).log()` as `log_softmax(x)`, where both are on one line."""
    for call in calls_on(site):
        match call:
            case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=args) if attr == inner:
                if name == "logsigmoid":
                    return f"{spelled('torch.nn.functional', site)}.logsigmoid({ast.unparse(args[0] if is_module(owner) else owner)})"
                call.func = ast.Attribute(owner, name)
                return ast.unparse(call)
    return ""


def log_of_sum(site: Site) -> str:
    """`x.exp().sum(dim).log()` as `x.logsumexp(dim)`."""
    for call in calls_on(site):
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Attribute(value=x, attr="exp")), attr="sum"), args=[dim, *_]):
                if not is_module(x):
                    return f"{ast.unparse(x)}.logsumexp({ast.unparse(dim)})"
    return ""


def spelled(text: str, site: Site | None) -> str:
    """Advice with the name under which the user's code knows the library: the import in its file, or else the name that it uses."""
    if site is None or "torch." not in text:
        return text
    imports = (IMPORT.match(line) for line in linecache.getlines(site.filename))
    name = next((found[2] or found[1] for found in imports if found), "")
    name = name or next((name for name in site.code.co_names if name in ("torch", "ad", "adjoint")), "torch")
    return re.sub(r"\btorch\.", f"{name}.", text)
