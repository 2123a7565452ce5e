"""A file of the program as it is edited: its text, its syntax tree, and changes to single places that leave all else as it stands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..._site import Site

Function = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While
ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant)


class ByHandError(Exception):
    """A repair that cannot be made with certainty; the text says what to do."""


@dataclass(frozen=True)
class Place:
    """Where in a file an instruction was written. Columns count bytes, as those of `ast` do; -1 if they are not known."""

    file: str
    line: int
    end_line: int
    column: int = -1
    end_column: int = -1

    @classmethod
    def of(cls, site: Site) -> Place:
        line, last, start, end = list(site.code.co_positions())[site.offset // 2] if site.offset >= 0 else (None,) * 4
        if line is None or last is None or start is None or end is None:
            return cls(site.filename, site.line, site.line)
        return cls(site.filename, line, last, start, end)


@dataclass(frozen=True)
class Edit:
    """Other text for a part of a file."""

    start: int
    end: int
    text: str


class Source:
    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self.tree = ast.parse(text)
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self._lines = text.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        strings = [node for node in ast.walk(self.tree) if isinstance(node, ast.JoinedStr)]
        self._formatted = {inner for node in strings for inner in ast.walk(node)}  # whose positions are not known before Python 3.12

    # ---- from positions to nodes ----------------------------------------------------------------------------------------------------

    def offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def code(self, node: ast.expr | ast.stmt) -> str:
        """The text of a node, as the user wrote it."""
        start, end = self.span(node)
        return self.text[start:end]

    def expression(self, place: Place) -> ast.expr | None:
        """The expression at a place; of calls in a chain, whose positions differ between versions of Python, the one that ends there."""
        found = [node for node in self.nodes(ast.expr) if (node.end_lineno, node.end_col_offset) == (place.end_line, place.end_column)]
        exact = [node for node in found if (node.lineno, node.col_offset) == (place.line, place.column)]
        around = [node for node in found if isinstance(node, ast.Call) and (node.lineno, node.col_offset) <= (place.line, place.column)]
        return exact[0] if exact else around[-1] if around else None

    def call(self, place: Place) -> ast.Call | None:
        found = self.expression(place)
        return found if isinstance(found, ast.Call) else None

    def statement(self, place: Place) -> ast.stmt:
        """The innermost statement around a place."""
        found: list[ast.stmt] = [node for node in self.nodes(ast.stmt) if node.lineno <= place.line <= node.end_lineno]
        if not found:
            raise ByHandError(f"line {place.line} is no statement")
        return max(found, key=lambda node: (node.lineno, node.col_offset))

    def nodes(self, kind: Any, inside: ast.AST | None = None) -> Iterator[Any]:
        return (node for node in ast.walk(inside or self.tree) if isinstance(node, kind) and node not in self._formatted)

    def around(self, node: ast.AST, *kinds: Any) -> Iterator[Any]:
        """The nodes of some kinds around a node, innermost first."""
        above = self._parents.get(node)
        while above is not None:
            if isinstance(above, kinds):
                yield above
            above = self._parents.get(above)

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._parents.get(node)

    def scope(self, node: ast.AST) -> ast.AST:
        """The function that a node is in, or the file."""
        return next(self.around(node, Function, ast.Lambda), self.tree)

    def owner(self, node: ast.AST) -> ast.ClassDef | None:
        return next(self.around(node, ast.ClassDef), None)

    def loops(self, node: ast.AST) -> list[Any]:
        """The loops around a node in its own function, innermost first."""
        found = []
        for above in self.around(node, Loop, Function, ast.Lambda):
            if not isinstance(above, Loop):
                break
            found.append(above)
        return found

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements among which one stands."""
        above = self._parents[statement]
        for name in ("body", "orelse", "finalbody"):
            block = getattr(above, name, None)
            if isinstance(block, list) and statement in block:
                return block
        raise ByHandError(f"line {statement.lineno} stands in no block")

    def has_self(self, node: ast.AST) -> bool:
        """Whether a node stands in a method, where `self` is known."""
        return any(function.args.args and function.args.args[0].arg == "self" for function in self.around(node, Function))

    def mentions(self, scope: ast.AST, code: str) -> bool:
        """Whether an expression, such as `self.model`, is read somewhere in a scope."""
        return any(ast.unparse(node) == code for node in self.nodes((ast.Name, ast.Attribute), scope) if isinstance(node.ctx, ast.Load))

    def nn(self) -> str:
        """How the file writes `nn`, by what it imports: `nn`, `torch.nn` or `ad.nn`."""
        if re.search(r"^\s*(?:import [\w.]+ as nn\b|from [\w.]+ import .*\bnn\b)", self.text, re.MULTILINE):
            return "nn"
        if (found := re.search(r"^\s*import (torch|adjoint)(?: as (\w+))?\s*(?:#|$)", self.text, re.MULTILINE)) is not None:
            return f"{found[2] or found[1]}.nn"
        raise ByHandError("the file does not import torch.nn under a name")

    # ---- edits ----------------------------------------------------------------------------------------------------------------------

    def replaced(self, node: ast.expr, text: str) -> Edit:
        return Edit(*self.span(node), text)

    def with_suffix(self, node: ast.expr, suffix: str) -> Edit:
        """An expression followed by something, in parentheses if it needs them."""
        start, end = self.span(node)
        if isinstance(node, ATOMS) or self.is_enclosed(node):
            end += self.is_enclosed(node)
            return Edit(end, end, suffix)
        return Edit(start, end, f"({self.text[start:end]}){suffix}")

    def is_enclosed(self, node: ast.expr) -> bool:
        """Whether an operation is in parentheses of its own, and not those of a call."""
        start, end = self.span(node)
        before = self.text[:start].rstrip(" ")
        call = re.search(r"[\w\])]\s*\($", before) is not None
        return isinstance(node, ast.BinOp | ast.UnaryOp) and before.endswith("(") and self.text[end : end + 1] == ")" and not call

    def with_keyword(self, call: ast.Call, name: str, value: str, position: int | None = None) -> Edit:
        """A call with another value for an argument, wherever that stands now."""
        for keyword in call.keywords:
            if keyword.arg == name:
                return self.replaced(keyword.value, value)
            if keyword.arg is None:
                raise ByHandError(f"write {name}={value} into what is given with **")
        if position is not None and len(call.args) > position:
            return self.replaced(call.args[position], value)
        end = self.span(call)[1] - 1  # before the parenthesis
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if not given:
            return Edit(end, end, f"{name}={value}")
        last = max(self.span(node)[1] for node in given)
        while self.text[last:end].lstrip()[:1] == ")":  # of an argument in parentheses
            last = self.text.index(")", last) + 1
        if self.text[last:end].lstrip().startswith(","):  # over several lines, with a comma at the end
            indentation = re.match(r"[ \t]*", self._lines[given[-1].lineno - 1])[0]  # type: ignore[index]
            comma = self.text.index(",", last) + 1
            return Edit(comma, comma, f"{self.newline}{indentation}{name}={value},")
        return Edit(last, last, f", {name}={value}")

    def before(self, statement: ast.stmt, code: str) -> Edit:
        """A line before a statement, with its indentation."""
        first = statement.decorator_list[0] if getattr(statement, "decorator_list", None) else statement  # type: ignore[attr-defined]
        start = self.offset(first.lineno, first.col_offset)
        indentation = self.indentation(first.lineno)
        if not self.text[self._starts[first.lineno - 1] : start].isspace() and first.col_offset:
            return Edit(start, start, f"{code}; ")
        line = self._starts[first.lineno - 1]
        return Edit(line, line, f"{indentation}{code}{self.newline}")

    def after(self, statement: ast.stmt, code: str) -> Edit:
        """A line after a statement, with its indentation."""
        assert statement.end_lineno is not None
        end = self.span(statement)[1]
        inline = self.text[self._starts[statement.lineno - 1] : self.span(statement)[0]].strip()
        line_end = self.line_end(statement.end_lineno)
        rest = self.text[end:line_end].strip()
        if inline or (rest and not rest.startswith("#")):
            return Edit(end, end, f"; {code}")
        missing = "" if self.text[:line_end].endswith("\n") else self.newline
        return Edit(line_end, line_end, f"{missing}{self.indentation(statement.lineno)}{code}{self.newline}")

    def moved(self, statement: ast.stmt, *, before: ast.stmt | None = None, after: ast.stmt | None = None) -> list[Edit]:
        """The lines of a statement at another place, with their comments and the indentation of that place."""
        assert statement.end_lineno is not None
        start, end = self._starts[statement.lineno - 1], self.line_end(statement.end_lineno)
        lines = self.text[start:end]
        rest = self.text[self.span(statement)[1] : end].strip()
        if self.text[start : self.span(statement)[0]].strip() or (rest and not rest.startswith("#")):
            raise ByHandError(f"line {statement.lineno} has other statements beside it")
        if self.block(statement) == [statement]:
            raise ByHandError(f"line {statement.lineno} is all that its block has")
        target = before or after
        assert target is not None and target.end_lineno is not None
        if self.text[self._starts[target.lineno - 1] : self.span(target)[0]].strip():
            raise ByHandError(f"line {target.lineno} has other statements beside it")
        old, new = self.indentation(statement.lineno), self.indentation(target.lineno)
        if old != new:
            if statement.lineno != statement.end_lineno:
                raise ByHandError(f"line {statement.lineno} is one of several lines")
            lines = new + lines.removeprefix(old)
        if not lines.endswith("\n"):
            lines += self.newline
        place = self._starts[target.lineno - 1] if before is not None else self.line_end(target.end_lineno)
        missing = "" if place == 0 or self.text[:place].endswith("\n") else self.newline
        return [Edit(start, end, ""), Edit(place, place, missing + lines)]

    def indentation(self, line: int) -> str:
        found = re.match(r"[ \t]*", self._lines[line - 1])
        return found[0] if found else ""

    def line_end(self, line: int) -> int:
        return min(self._starts[line], len(self.text))

    def edited(self, edits: Iterable[Edit]) -> str:
        """The text with edits made; it must still be Python."""
        text = self.text
        for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
            text = text[: edit.start] + edit.text + text[edit.end :]
        ast.parse(text)
        return text
