"""A walk through a program that keeps track of what its names stand for, and notes what of PyTorch it uses.

Nothing is run. Names are followed through imports, assignments and annotations; conditions whose answer is known here choose a branch
(`hasattr(torch, "x")`, versions, `torch.cuda.is_available()`, TYPE_CHECKING); what a `try` catches is noted as handled. Bodies of functions
come after the module's own code, as they do when a program runs, and are told apart from it: the rest happens on import.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.machinery import PathFinder

from . import conditions, names
from .calls import is_other_device
from .conditions import Const
from .expressions import Expressions, Finding, Function, Imported, Instance, Ref, Value
from .sources import Source

__all__ = ["Finding", "Imported", "Program"]


class Program(Expressions):
    """The uses of torch in a program; `whole=False` leaves out what does not happen on import."""

    def __init__(self, source: Source, whole: bool = True) -> None:
        super().__init__()
        self._imported, self._folder = not whole, source.path.parent
        self._asked: list[Function] = []  # functions whose answers are being looked for
        self._flags = conditions.flags([statement for _, tree in source.pieces for statement in tree.body])
        for self._cell, tree in source.pieces:
            self._block(tree.body)
        self._walk_functions(whole)

    def _walk_functions(self, whole: bool) -> None:
        while now := [function for function in self._functions if getattr(function.node, "name", "") in self._called]:
            self._functions = [function for function in self._functions if function not in now]
            for function in now:
                self._body(function, self._called[getattr(function.node, "name", "")] and function.owner is None)
        self._on_import = False
        while whole and self._functions:
            self._body(self._functions.pop(0), False)

    def _body(self, function: Function, certain: bool) -> None:
        self._perhaps = int(not certain)
        self._scopes, self._cell, self._catching, self._owner = [*function.scopes, {}], function.cell, [], None
        arguments = function.node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        for argument in [*positional, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
            if argument is not None:  # annotations were evaluated with the definition
                self._scopes[-1][argument.arg] = self._annotated(argument.annotation, told=True)
        if function.owner is not None and positional:
            self._scopes[-1][positional[0].arg] = function.owner
        if isinstance(function.node, ast.Lambda):
            self._value(function.node.body)
        else:
            self._block(function.node.body)

    # ---- statements -------------------------------------------------------------------------------------------------------------

    def _block(self, statements: list[ast.stmt]) -> bool:
        """Walk through statements; True if they never get to their end."""
        return any(self._statement(statement) for statement in statements)

    def _statement(self, node: ast.stmt) -> bool:
        walk = getattr(self, f"_walk_{type(node).__name__}", None)
        if walk is not None:
            return bool(walk(node))
        for child in ast.iter_child_nodes(node):
            self._anything(child)
        return isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break)

    def _walk_Import(self, node: ast.Import) -> None:
        for item in node.names:
            top = item.name.partition(".")[0]
            if names.is_torch(item.name):
                found = self._import(node, item.name)
                self._bind(item.asname or top, found if item.asname else Ref(top))
            else:
                self._bind(item.asname or top, None)
                self._note_import(node, item.name, ())

    def _walk_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        if not names.is_torch(module):
            self._late_annotations |= module == "__future__" and any(item.name == "annotations" for item in node.names)
            self._other_stars |= any(item.name == "*" for item in node.names)
            for item in node.names:
                self._bind(item.asname or item.name, None)
            self._note_import(node, module, tuple(item.name for item in node.names))
            return
        there = self._import(node, module) is not None
        for item in node.names:
            if item.name == "*" and there:
                self._stars.append(module)
                public = vars(names.module(module))
                for name in public.get("__all__", [name for name in public if not name.startswith("_")]):
                    self._bind(name, Ref(f"{module}.{name}"))
            else:
                self._bind(item.asname or item.name, self._import_name(node, f"{module}.{item.name}") if there else None)

    def _import_name(self, node: ast.AST, name: str) -> Value:
        """A name of a module, or a submodule: `from torch import nn` imports either."""
        answer = names.looking_up(name, {*self._modules, name})
        if answer.kind == "missing":
            answer = answer._replace(error=ImportError)
        elif names.module(name) is not None:
            self._modules.add(name)
        return self._found(node, answer)

    def _walk_Assign(self, node: ast.Assign) -> None:
        value = self._value(node.value)
        for target in node.targets:
            self._assign(target, value, node.value)

    def _walk_AnnAssign(self, node: ast.AnnAssign) -> None:
        kind = self._annotated(node.annotation)
        value = self._value(node.value) if node.value is not None else None
        self._assign(node.target, kind or value, node.value)

    def _walk_If(self, node: ast.If) -> bool:
        test = self._truth(node.test)
        if test is not None:
            return self._block(node.body if test else node.orelse)
        scope = self._scopes[-1]  # which functions that were defined hold on to
        before = dict(scope)
        with self._maybe():
            ended = self._block(node.body)
            taken = dict(scope)
            scope.clear()
            scope.update(before)
            other = self._block(node.orelse)
        if (ended or other) and len(self._scopes) > 1:  # whether a function goes on from here is not known
            self._perhaps += 1
        if other:
            scope.clear()
        if other or not ended:
            self._join(taken)
        return ended and other and bool(node.orelse)

    def _join(self, others: dict[str, Value]) -> None:
        """Two ways lead here. Of what they disagree on, that is kept of which there is something to say."""
        now = self._scopes[-1]
        for name in [*others, *now]:
            first, second = others.get(name), now.get(name)
            if first != second:
                kept = max(first, second, key=_worth)
                now[name] = replace(kept, settled=False) if isinstance(kept, Const) else kept

    def _walk_While(self, node: ast.While) -> None:
        if self._truth(node.test) is not False:
            self._loop(node.body)
        self._block(node.orelse)

    def _walk_For(self, node: ast.For | ast.AsyncFor) -> None:
        self._value(node.iter)
        self._assign(node.target, None)
        self._loop(node.body)
        self._block(node.orelse)

    _walk_AsyncFor = _walk_For

    def _loop(self, body: list[ast.stmt]) -> None:
        before = dict(self._scopes[-1])
        with self._maybe():
            self._block(body)
        self._join(before)

    def _walk_With(self, node: ast.With | ast.AsyncWith) -> bool:
        caught: list[type[BaseException]] = []
        for item in node.items:
            self._value(item.context_expr)
            if isinstance(item.context_expr, ast.Call) and ast.unparse(item.context_expr.func).endswith("suppress"):
                caught += [error for argument in item.context_expr.args for error in conditions.exceptions(argument)]
            if item.optional_vars is not None:
                self._assign(item.optional_vars, None)
        with self._caught(caught):
            return self._block(node.body) and not caught

    _walk_AsyncWith = _walk_With

    @contextmanager
    def _caught(self, errors: list[type[BaseException]]) -> Iterator[None]:
        before = self._catching
        self._catching = [*before, *errors]
        try:
            yield
        finally:
            self._catching = before

    def _walk_Try(self, node: ast.Try) -> bool:
        caught = [error for handler in node.handlers if not _gives_up(handler) for error in conditions.exceptions(handler.type)]
        already = set(self.findings)
        ended, stopped = False, None
        with self._caught(caught):
            for statement in node.body:
                ended = self._statement(statement)
                failed = [found for found in self.findings if found not in already and found.handled and found.kind == "missing"]
                if stopped := self._surely_fails(statement, bool(failed), node.handlers):
                    break
        if stopped:
            if stopped.name:
                self._bind(stopped.name, None)
            ended = self._block(stopped.body)
            return self._block(node.finalbody) or ended
        if not failed:
            ended = self._block(node.orelse) or ended
        if failed or not all(map(_is_harmless, node.body)):  # where all that is tried is there, no handler is reached
            before = dict(self._scopes[-1])
            with self._maybe():
                for handler in node.handlers:
                    if handler.name:
                        self._bind(handler.name, None)
                    self._block(handler.body)
            self._join(before)
            ended = False
        return self._block(node.finalbody) or ended

    def _surely_fails(self, statement: ast.stmt, failed: bool, handlers: list[ast.ExceptHandler]) -> ast.ExceptHandler | None:
        """What catches the error of an import that cannot succeed here."""
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            return None
        if not failed:
            modules = [item.name for item in statement.names] if isinstance(statement, ast.Import) else [statement.module or ""]
            relative = isinstance(statement, ast.ImportFrom) and statement.level
            if relative or all(names.is_torch(module) or self._is_there(module) for module in modules):
                return None
        catching = (handler for handler in handlers if not _gives_up(handler))
        return next((handler for handler in catching if _catches_import(handler)), None)

    def _is_there(self, module: str) -> bool:
        top = module.partition(".")[0]
        if top in sys.stdlib_module_names or top in sys.modules:
            return True
        return PathFinder.find_spec(top, [str(self._folder), *sys.path]) is not None or (self._folder / top).exists()

    def _answer(self, function: Function) -> Value:
        """What a function without arguments returns, where that is a matter of what is installed."""
        if function in self._asked:
            return None
        self._asked.append(function)
        before, self._scopes = self._scopes, [*function.scopes, {}]
        self._silent += 1
        found = self._returned(function.node.body) if isinstance(function.node, ast.FunctionDef) else None
        self._silent -= 1
        self._scopes = before
        self._asked.pop()
        return found

    def _returned(self, statements: list[ast.stmt]) -> Value:
        for statement in statements:
            if isinstance(statement, ast.Return):
                return Const(None) if statement.value is None else self._value(statement.value)
            if isinstance(statement, ast.Try):
                stops = [self._surely_fails(part, False, statement.handlers) for part in statement.body]
                handler = next(filter(None, stops), None)
                return self._returned(handler.body) if handler is not None else None
            if isinstance(statement, ast.If) and (test := self._truth(statement.test)) is not None:
                if any(isinstance(part, ast.Return) for part in ast.walk(statement)):
                    return self._returned([*(statement.body if test else statement.orelse), *statements[statements.index(statement) + 1 :]])
                continue
            if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):  # a docstring
                return None
        return None

    _walk_TryStar = _walk_Try

    def _walk_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self._calling.add(decorator)
            self._value(decorator)
        self._signature(node.args)
        self._annotated(node.returns)
        self._bind(node.name, None)
        if len(self._scopes) == 1:
            self._own[node.name] = Function(node, list(self._scopes), self._cell, None)
        static = any(ast.unparse(decorator) == "staticmethod" for decorator in node.decorator_list)
        self._later(node, None if static else self._owner)

    _walk_AsyncFunctionDef = _walk_FunctionDef

    def _walk_ClassDef(self, node: ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self._calling.add(decorator)
            self._value(decorator)
        bases = [self._value(base) for base in node.bases]
        for keyword in node.keywords:
            self._value(keyword.value)
        before = self._owner, self._in_class
        self._owner, self._in_class = self._instance(node, bases), True
        self._scopes.append({})
        self._block(node.body)
        self._scopes.pop()
        self._owner, self._in_class = before
        self._bind(node.name, None)

    def _instance(self, node: ast.ClassDef, bases: list[Value]) -> Value:
        """What `self` is in a class. Of one with bases that are not known, neither is what it has."""
        known = [base.name for base in bases if isinstance(base, Ref)]
        if not known or len(known) < len(bases):
            return None
        own = {child.name for child in node.body if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)}
        for child in ast.walk(node):
            if isinstance(child, ast.Attribute | ast.Name) and isinstance(child.ctx, ast.Store):
                own.add(child.attr if isinstance(child, ast.Attribute) else child.id)
        return Instance(known[0], frozenset(own))

    def _walk_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._scopes[-1].pop(target.id, None)

    def _walk_Global(self, node: ast.Global) -> None:
        pass

    def _walk_Raise(self, node: ast.Raise) -> bool:
        for part in (node.exc, node.cause):
            if part is not None:
                self._value(part)
        return True


def _worth(value: Value) -> int:
    """How much there is to say of a value: names of torch, objects of its classes, devices that are not there."""
    if isinstance(value, Const):
        return int(is_other_device(value.value))
    return 0 if value is None else 2 + isinstance(value, Ref)


def _gives_up(handler: ast.ExceptHandler) -> bool:
    """Whether a handler only raises something else."""
    return bool(handler.body) and isinstance(handler.body[-1], ast.Raise)


def _catches_import(handler: ast.ExceptHandler) -> bool:
    return any(issubclass(ModuleNotFoundError, error) for error in conditions.exceptions(handler.type))


def _is_harmless(statement: ast.stmt) -> bool:
    """Whether a statement raises nothing where what it names of torch is there: imports of it, and flags."""
    if isinstance(statement, ast.ImportFrom):
        return not statement.level and names.is_torch(statement.module or "")
    if isinstance(statement, ast.Import):
        return all(names.is_torch(item.name) for item in statement.names)
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
