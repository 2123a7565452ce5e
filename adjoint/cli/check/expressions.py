"""What the expressions of a program stand for, as far as that is known without running it, and what of PyTorch they use."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from . import calls, conditions, members, names
from .conditions import Const
from .names import Answer


@dataclass(frozen=True)
class Ref:
    """Something in torch, by its full name."""

    name: str


@dataclass(frozen=True)
class Instance:
    """An object of a class of torch's, or of one derived from it, which defines names of its own."""

    name: str
    own: frozenset[str] = frozenset()


Value = Ref | Instance | Const | None  # None: not known
ELSEWHERE = ("is_cuda", "is_mps", "is_xpu")  # what no tensor says of itself here


@dataclass(frozen=True)
class Finding:
    """Something that the program does and that does not do here what it does in PyTorch."""

    line: int
    cell: int | None
    name: str
    kind: str  # "missing", "refused", "inert" or "unknown"
    what: str
    handled: bool = False  # the program catches the error
    on_import: bool = False  # it happens when the module is imported
    called: bool = True  # a refused name that is only imported or passed on raises nothing yet
    certain: bool = True  # no condition that is not known has to hold before it happens

    @property
    def raises(self) -> bool:
        return self.kind == "missing" or (self.kind == "refused" and self.called)


@dataclass(frozen=True)
class Imported:
    """An import of something else than torch."""

    line: int
    cell: int | None
    module: str  # with a dot for each level, if it is relative
    names: tuple[str, ...]
    handled: bool
    on_import: bool
    certain: bool = True


@dataclass
class Function:
    """A body that is to be walked through later."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scopes: list[dict[str, Value]]
    cell: int | None
    owner: Value  # what `self` is


class Expressions:
    """The state of the walk, and the walk through expressions; the statements are in `Program`."""

    def __init__(self) -> None:
        self.findings: dict[Finding, None] = {}
        self.imports: dict[Imported, None] = {}
        self._scopes: list[dict[str, Value]] = [{}]
        self._modules: set[str] = set()  # of torch, imported here
        self._assigned: set[str] = set()  # names in torch that the program puts there itself
        self._stars: list[str] = []
        self._other_stars = False
        self._catching: list[type[BaseException]] = []
        self._functions: list[Function] = []
        self._called: dict[str, bool] = {}  # functions of the program that are called on import, and whether that is certain
        self._own: dict[str, Function] = {}  # those that stand in the module itself
        self._flags: frozenset[str] = frozenset()  # names of the module that only get constants, one after the other
        self._imported = False  # what is walked through is a module, and not the program itself
        self._perhaps = 0  # conditions that are not known, and have to hold
        self._calling: set[ast.AST] = set()  # expressions that are called where they stand
        self._cell: int | None = None
        self._silent = 0
        self._on_import = True
        self._owner: Value = None  # what `self` is in the methods of the class at hand
        self._in_class = False
        self._late_annotations = sys.version_info >= (3, 14)

    # ---- noting -----------------------------------------------------------------------------------------------------------------

    def _tell(self, node: ast.AST, kind: str, name: str, what: str, error: type[Exception] | None, called: bool = True) -> None:
        if not self._silent:
            handled = error is not None and any(issubclass(error, caught) for caught in self._catching)
            line, certain = getattr(node, "lineno", 0), not self._perhaps
            found = Finding(line, self._cell, name, kind, what, handled, self._on_import, called, certain)
            twin = replace(found, certain=not certain)
            if certain or twin not in self.findings:
                self.findings.pop(twin, None)
                self.findings[found] = None

    def _found(self, node: ast.AST, answer: Answer) -> Value:
        """Note what is not simply there; the value is the name, where it can be used at all."""
        if answer.kind == "there":  # (what was built in is a matter of facts, and mostly None)
            return Const(answer.value) if answer.name.startswith("torch.version.") else Ref(answer.name)
        if answer.name in self._assigned:
            return None
        self._tell(node, answer.kind, answer.name, answer.what, answer.error, node in self._calling)
        return Ref(answer.name) if answer.kind in ("refused", "inert") else None

    def _look_up(self, name: str) -> Answer:
        return names.looking_up(name, self._modules)

    def _import(self, node: ast.AST, module: str) -> Value:
        answer = names.importing(module)
        if answer.kind != "missing":
            self._modules.add(module)
        return self._found(node, answer)

    def _note_import(self, node: ast.AST, module: str, imported: tuple[str, ...]) -> None:
        if not self._silent:
            handled = any(issubclass(ImportError, caught) for caught in self._catching)
            found = Imported(getattr(node, "lineno", 0), self._cell, module, imported, handled, self._on_import, not self._perhaps)
            self.imports[found] = None

    @contextmanager
    def _maybe(self) -> Iterator[None]:
        """What is walked through inside does not have to happen."""
        self._perhaps += 1
        try:
            yield
        finally:
            self._perhaps -= 1

    def _bind(self, name: str, value: Value) -> None:
        self._scopes[-1][name] = value

    def _assign(self, target: ast.expr, value: Value, node: ast.expr | None = None) -> None:
        if isinstance(target, ast.Name):
            settled = target.id in self._flags and len(self._scopes) == 1
            self._bind(target.id, Const(node.value, settled) if isinstance(node, ast.Constant) else value)
        elif isinstance(target, ast.Attribute):
            owner = self._value(target.value)
            if isinstance(owner, Ref):
                self._assigned.add(f"{owner.name}.{target.attr}")
        elif isinstance(target, ast.Tuple | ast.List):
            parts = node.elts if isinstance(node, ast.Tuple | ast.List) and len(node.elts) == len(target.elts) else None
            self._silent += 1
            for place, part in enumerate(target.elts):
                self._assign(part, self._value(parts[place]) if parts else None, parts[place] if parts else None)
            self._silent -= 1
        elif isinstance(target, ast.Starred):
            self._assign(target.value, None)
        else:
            self._value(target)

    def _statement(self, node: ast.stmt) -> bool:
        raise NotImplementedError

    def _answer(self, function: Function) -> Value:
        raise NotImplementedError

    def _is_there(self, module: str) -> bool:
        raise NotImplementedError

    def _anything(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            self._statement(node)
        elif isinstance(node, ast.expr):
            self._value(node)
        else:
            for child in ast.iter_child_nodes(node):
                self._anything(child)

    def _later(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, owner: Value) -> None:
        if not self._silent:
            # Names in the body of a class are not seen from its methods.
            scopes = self._scopes[:-1] if owner is not None or self._in_class else list(self._scopes)
            self._functions.append(Function(node, scopes, self._cell, owner))

    def _signature(self, arguments: ast.arguments) -> None:
        for default in [*arguments.defaults, *arguments.kw_defaults]:
            if default is not None:
                self._other_device(default, self._value(default))
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
            if argument is not None:
                self._annotated(argument.annotation)

    def _other_device(self, node: ast.AST, default: Value) -> None:
        """A default that names a device is used if nobody says otherwise."""
        if isinstance(default, Const) and calls.is_other_device(default.value):
            self._tell(node, "unknown", str(default.value), f"the default is {default.value!r}: {calls.NO_DEVICE}", AssertionError)

    # ---- expressions ------------------------------------------------------------------------------------------------------------

    def _value(self, node: ast.expr) -> Value:
        walk = getattr(self, f"_see_{type(node).__name__}", None)
        if walk is not None:
            found: Value = walk(node)
            return found
        for child in ast.iter_child_nodes(node):
            self._anything(child)
        return None

    def _truth(self, node: ast.expr) -> bool | None:
        value = self._value(node)
        return bool(value.value) if isinstance(value, Const) and value.settled else None

    def _annotated(self, node: ast.expr | None, told: bool = False) -> Value:
        """The value of something with this annotation, which is evaluated now, late or never."""
        if node is None:
            return None
        text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if text:
            try:
                node = ast.parse(str(node.value), mode="eval").body  # type: ignore[attr-defined]
            except SyntaxError:
                return None
        late = told or text or self._late_annotations
        self._silent += late
        value = self._value(node)
        self._silent -= late
        self._silent += 1
        kinds = [value, *(self._value(part) for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute))]
        self._silent -= 1
        outer = isinstance(node, ast.Name | ast.Attribute | ast.BinOp) or ast.unparse(node).startswith(("Optional", "typing.Optional"))
        found = [kind.name for kind in kinds if isinstance(kind, Ref) and isinstance(self._look_up(kind.name).value, type)]
        return Instance(found[0]) if outer and found and len(set(found)) == 1 else None

    def _see_Constant(self, node: ast.Constant) -> Value:
        return Const(node.value)

    def _see_Name(self, node: ast.Name) -> Value:
        if node.id == "TYPE_CHECKING":
            return Const(False)
        if node.id == "__name__" and self._imported:
            return Const("the name of the module")
        for scope in reversed(self._scopes):
            if node.id in scope:
                value = scope[node.id]
                if isinstance(value, Ref):  # of a name that is refused or inert, each use is told
                    self._found(node, names.looking_up(value.name, {*self._modules, value.name}))
                return value
        if self._stars and not self._other_stars and isinstance(node.ctx, ast.Load) and not hasattr(builtins, node.id):
            name = f"{self._stars[-1]}.{node.id}"
            if node.id not in {name for scope in self._scopes for name in scope} and node.id not in ("__file__", "__doc__"):
                self._tell(node, "unknown", name, f"{node.id} is no name that `from {self._stars[-1]} import *` gives here", NameError)
        return None

    def _see_Attribute(self, node: ast.Attribute) -> Value:
        owner = self._value(node.value)
        if node.attr == "TYPE_CHECKING":
            return Const(False)
        if isinstance(owner, Const):
            return owner if conditions.is_version(owner) else None
        if isinstance(owner, Ref):
            name = f"{owner.name}.{node.attr}"
            if name in self._assigned:
                return None
            if name == "torch.__version__":
                return conditions.TORCH
            return self._found(node, self._look_up(name))
        if isinstance(owner, Instance):
            return self._member(node, owner)
        if node.attr in ELSEWHERE and isinstance(node.ctx, ast.Load):
            return Const(False)
        if (kind := members.perhaps_lacks(node.attr)) and isinstance(node.ctx, ast.Load):
            self._tell(node, "unknown", f".{node.attr}", f"if this is a {kind}: adjoint's have no .{node.attr}", AttributeError)
        elif isinstance(node.value, ast.Name) and node.value.id == "sys":
            return conditions.of_system(node.attr)
        return None

    def _member(self, node: ast.Attribute, owner: Instance) -> Value:
        """An attribute of an object whose class is known."""
        if node.attr in ELSEWHERE and owner.name == "torch.Tensor":
            return Const(False)
        cls = self._look_up(owner.name).value
        if node.attr not in owner.own and isinstance(node.ctx, ast.Load) and isinstance(cls, type):
            name = f"{owner.name}.{node.attr}"
            if members.lacks(cls, node.attr):
                self._tell(node, "missing", name, f"adjoint has no {name}", AttributeError)
            elif hasattr(cls, node.attr) and (answer := self._look_up(name)).kind in ("refused", "inert"):
                self._tell(node, answer.kind, answer.name, answer.what, answer.error, node in self._calling)
        return None

    def _see_Call(self, node: ast.Call) -> Value:
        self._calling.add(node.func)
        function = self._value(node.func)
        arguments = [self._value(argument) for argument in node.args]
        keywords = {str(keyword.arg): self._value(keyword.value) for keyword in node.keywords}
        called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if self._on_import:
            self._called[called] = self._called.get(called, False) or (isinstance(node.func, ast.Name) and not self._perhaps)
        if function is None or isinstance(function, Const):
            for argument in arguments:
                if conditions.is_version(argument):  # Version(torch.__version__), tuple(...), str(...)
                    return argument
            if conditions.is_version(function):
                return function
            return self._call_of_something(node, called, arguments, keywords)
        if isinstance(function, Instance):
            return None
        known = {str(place): argument for place, argument in enumerate(arguments)} | keywords
        return self._call(node, function.name, {name: self._constant(value) for name, value in known.items() if value is not None})

    def _constant(self, value: Value) -> Any:
        """The value of an argument that is known: of torch's names, dtypes matter to a call."""
        return value.value if isinstance(value, Const) else self._look_up(value.name).value if isinstance(value, Ref) else ...

    def _call(self, node: ast.Call, name: str, constants: dict[str, Any]) -> Value:
        answer = self._look_up(name)
        if answer.kind not in ("there", "inert"):
            return None
        for trouble in calls.troubles(name, answer.value, node, constants):
            self._tell(node, trouble.kind, name, trouble.what, trouble.error)
        if name == "torch.device":
            return Const(constants["0"]) if isinstance(constants.get("0"), str) else None
        if (settled := calls.settled(answer.value)) is not None:
            return Const(settled)
        if isinstance(answer.value, type):
            return Instance(name)
        return Instance("torch.Tensor") if calls.gives_tensor(answer.value) else None

    def _call_of_something(self, node: ast.Call, called: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        self._other_device(node, keywords.get("default"))  # of an option of the command line
        if isinstance(node.func, ast.Name) and called in self._own and not (node.args or node.keywords):
            return self._answer(self._own[called])
        first, second = [*arguments, None, None][:2]
        text = first.value if isinstance(first, Const) else None
        method = isinstance(node.func, ast.Attribute)
        if called in ("getattr", "hasattr") and not method and isinstance(first, Ref):
            return self._getattr(node, called, first.name, second.value if isinstance(second, Const) else None)
        if called in ("import_module", "__import__") and isinstance(text, str):
            if names.is_torch(text):
                return self._import(node, text)
            self._note_import(node, text, ())
        elif called == "find_spec" and isinstance(text, str):
            if names.is_torch(text):
                return Const(None if names.module(text) is None else text)
            return Const(None) if not self._is_there(text) else None
        elif called == "cuda" and method:
            self._tell(node, "refused", ".cuda", ".cuda() is refused: adjoint computes on the CPU; leave it out", AssertionError)
        elif called == "pin_memory" and method:
            self._tell(node, "unknown", ".pin_memory", "of a tensor, .pin_memory() is refused: there is no accelerator", RuntimeError)
        elif called in ("to", "type", "astype", "new_zeros", "new_ones", "new_full", "new_tensor", "new_empty") and method:
            for value in [*arguments, *keywords.values()]:
                what = self._constant(value)
                if calls.is_other_device(what) and called != "type":
                    self._tell(node, "refused", f".{called}", f".{called}({what!r}) is refused: {calls.NO_DEVICE}", AssertionError)
                elif reason := calls.refused_dtype(what):
                    self._tell(node, "refused", f".{called}", f".{called} is refused: {reason}", NotImplementedError)
        elif isinstance(text, str) and len(arguments) == 1 and conditions.parsed(text):
            return first  # Version("2.0")
        return None

    def _getattr(self, node: ast.Call, called: str, owner: str, name: Any) -> Value:
        if not isinstance(name, str):
            if called == "getattr" and len(node.args) == 2:
                self._tell(node, "unknown", owner, f"which name of {owner} this asks for", AttributeError)
            return None
        answer = self._look_up(f"{owner}.{name}")
        if called == "hasattr":
            return Const(answer.kind not in ("missing", "unknown")) if answer.name not in self._assigned else None
        if len(node.args) > 2 and answer.kind == "missing":
            return self._value(node.args[2]) if answer.name not in self._assigned else None
        return self._found(node, answer)

    def _see_Lambda(self, node: ast.Lambda) -> Value:
        self._signature(node.args)
        self._later(node, None)
        return None

    def _see_NamedExpr(self, node: ast.NamedExpr) -> Value:
        value = self._value(node.value)
        self._bind(node.target.id, value)
        return value

    def _see_IfExp(self, node: ast.IfExp) -> Value:
        test = self._truth(node.test)
        if test is not None:
            return self._value(node.body if test else node.orelse)
        with self._maybe():
            first, second = self._value(node.body), self._value(node.orelse)
        return first if isinstance(first, Ref) else second if isinstance(second, Ref) else None

    def _see_BoolOp(self, node: ast.BoolOp) -> Value:
        """What comes after the value that decides is not evaluated."""
        decides = isinstance(node.op, ast.Or)
        every: list[Value] = []
        for part in node.values:
            open_ = any(not isinstance(value, Const) or not value.settled for value in every)
            self._perhaps += open_
            every.append(self._value(part))
            self._perhaps -= open_
            if isinstance(every[-1], Const) and every[-1].settled and bool(every[-1].value) is decides:
                return Const(decides) if any(not isinstance(value, Const) for value in every) else every[-1]
        return every[-1] if all(isinstance(value, Const) and value.settled for value in every) else None

    def _see_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self._value(node.operand)
        return Const(not value.value, value.settled) if isinstance(node.op, ast.Not) and isinstance(value, Const) else None

    def _see_Compare(self, node: ast.Compare) -> Value:
        values = [self._value(part) for part in (node.left, *node.comparators)]
        if isinstance(node.left, ast.Attribute) and node.left.attr == "type" and isinstance(node.ops[0], ast.Eq):  # x.device.type == "cuda"
            if values[0] is None and isinstance(values[1], Const) and calls.is_other_device(values[1].value):
                return Const(False)
        return conditions.compared(values[0], node.ops[0], values[1]) if len(values) == 2 else None

    def _see_Tuple(self, node: ast.Tuple) -> Value:
        parts = [self._value(part) for part in node.elts]
        known = [part for part in parts if isinstance(part, Const)]
        return Const(tuple(part.value for part in known), all(part.settled for part in known)) if len(known) == len(parts) else None

    def _see_Subscript(self, node: ast.Subscript) -> Value:
        value, place = self._value(node.value), self._value(node.slice)
        whole = isinstance(node.slice, ast.Slice) or (isinstance(place, Const) and place.value == 0)
        return value if conditions.is_version(value) and whole else None

    def _comprehension(self, node: ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp) -> Value:
        self._scopes.append({})
        source = None
        for generator in node.generators:
            source = self._value(generator.iter)
            self._assign(generator.target, None)
            for test in generator.ifs:
                self._value(test)
        for part in [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]:
            self._value(part)
        self._scopes.pop()
        return source if conditions.is_version(source) else None

    _see_GeneratorExp = _see_ListComp = _see_SetComp = _see_DictComp = _comprehension
