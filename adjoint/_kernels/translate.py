"""From a kernel's source to LLVM: the language of `loops.py`, statement by statement. (Expressions are in `expressions.py`.)

A variable is memory on the stack, which LLVM turns into registers; so loops need no phi nodes, and the text follows the source.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

from . import elements
from .expressions import Expressions, Scope, Value, function_tree, source_of
from .loops import REORDER, Bools, Doubles, Floats, Ints, Loop, Mark, Out, Part, Results, Strided, Words
from .maths import definitions

KINDS: dict[Any, str] = {
    Floats: "T", Out: "T", Strided: "S", Results: "R", Ints: "I", Bools: "B", Words: "W", Doubles: "D", Mark: "M",
    int: "i", float: "f", range: "r",
}  # fmt: skip
ARRAYS = "TSRIBWDM"
# "T" and "S" have the kernel's kind of elements, "R" that of its results.
ELEMENTS = {"I": "i64", "B": "bool", "W": elements.WORD, "D": "f64", "M": "i64"}
COMPUTED = {"f16": "f32", "bf16": "f32"}  # what is not computed with as it is
ROOMS = {"room": "R", "element_room": "T", "wide_room": "D", "index_room": "I"}  # the kinds of elements in a kernel's own memory


class Translator(Expressions):
    """One function of the language as LLVM text."""

    # ---- parameters ---------------------------------------------------------------------------------------------------------------

    def parameter(self, name: str, kind: str, register: str) -> None:
        if kind in ARRAYS:
            self.arrays[name] = register, self.elements_of(kind)
        else:
            self.store(name, Value(register, "i64" if kind == "i" else "double"))

    def elements_of(self, kind: str) -> str:
        return ELEMENTS.get(kind, self.module.result if kind == "R" else self.module.kind)

    # ---- statements ---------------------------------------------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            method = getattr(self, f"do_{type(statement).__name__}", None)
            if method is None:
                raise self.refuse(statement, "no such statement in the language")
            method(statement)

    def do_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "fortran":
            self.call_fortran(node.value)
        elif isinstance(node.value, ast.Call):  # of a part that writes
            self.expression(node.value)
        elif not isinstance(node.value, ast.Constant):  # a docstring
            raise self.refuse(node, "an expression that does nothing")

    def call_fortran(self, node: ast.Call) -> None:
        function = self.let(f"inttoptr i64 {self.integer(node.args[0])} to ptr")
        places = []
        for argument in node.args[1:]:
            if isinstance(argument, ast.Subscript):
                places.append(f"ptr {self.place(argument)[0]}")
            else:
                where = f"%v{self.fresh()}"
                self.stack.append(f"  {where} = alloca i64")
                self.do(f"store i64 {self.integer(argument)}, ptr {where}")
                places.append(f"ptr {where}")
        self.do(f"call void {function}({', '.join(places)})")

    def do_Pass(self, node: ast.Pass) -> None:
        pass

    def do_Assign(self, node: ast.Assign) -> None:
        (target,) = node.targets
        call = node.value
        if isinstance(target, ast.Name) and isinstance(call, ast.Call) and ast.unparse(call.func) in ("at", *ROOMS):
            self.arrays[target.id] = self.new_array(ast.unparse(call.func), self.integer(call.args[0]))
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            values = [self.expression(value) for value in node.value.elts]
            for place, value in zip(target.elts, values, strict=True):
                self.assign(place, value)
        else:
            self.assign(target, self.expression(node.value))

    def new_array(self, how: str, number: str) -> tuple[str, str]:
        """The array at an address, or one with room for a number of elements, and the kind of its elements."""
        if how == "at":
            return self.let(f"inttoptr i64 {number} to ptr"), self.module.kind
        where, kind = f"%v{self.fresh()}", self.elements_of(ROOMS[how])
        kind = COMPUTED.get(kind, kind)
        kind = self.module.result if self.widens(elements.memory_of(kind)) else kind
        self.stack.append(f"  {where} = alloca [{number} x {elements.memory_of(kind)}], align 64")
        return where, kind

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        reading = ast.parse(ast.unparse(node.target), mode="eval").body
        self.assign(node.target, self.operation(node, node.op, self.expression(reading), self.expression(node.value)))

    def assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.store(target.id, value)
        elif isinstance(target, ast.Subscript):
            where, kind = self.place(target)
            self.write(where, kind, value, target)
        else:
            raise self.refuse(target, "nothing that can be assigned to")

    def write(self, where: str, kind: str, value: Value, node: ast.AST) -> None:
        """Store an element, rounded to what memory holds of it."""
        memory = elements.memory_of(kind)
        if kind == "bool":
            register = self.let(f"zext i1 {self.truth(value)} to i8")
        elif kind == elements.WORD:
            register = self.let(f"trunc i64 {self.cast(value, 'i64', node)} to i32")
        elif kind in COMPUTED:
            self.module.declared |= elements.DECLARED
            register = elements.rounded(self.let, kind, self.cast(value, "float", node))
        else:
            register = self.cast(value, memory, node)
        self.do(f"store {memory} {register}, ptr {where}")

    def store(self, name: str, value: Value) -> None:
        if name not in self.variables:
            type_ = self.type if value.literal is not None and value.type != "i64" else value.type
            where = f"%v{self.fresh()}"
            self.stack.append(f"  {where} = alloca {type_}")
            self.variables[name] = where, type_
        where, type_ = self.variables[name]
        self.do(f"store {type_} {self.cast(value, type_)}, ptr {where}")

    def do_For(self, node: ast.For) -> None:
        if not isinstance(node.target, ast.Name):
            raise self.refuse(node.target, "a loop counts with one variable")
        turns, free = node.iter, isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "independent"
        if free:
            assert isinstance(node.iter, ast.Call)
            (turns,) = node.iter.args
        start, stop, step = self.bounds(turns)
        mark, begin = self.fresh(), len(self.lines)
        counter = f"%v{self.fresh()}"
        self.stack.append(f"  {counter} = alloca i64")
        self.do(f"store i64 {start}, ptr {counter}")
        self.label(f"test{mark}")
        number = self.let(f"load i64, ptr {counter}")
        order = "sgt" if step.startswith("-") else "slt"
        self.do(f"br i1 {self.let(f'icmp {order} i64 {number}, {stop}')}, label %body{mark}, label %end{mark}")
        self.lines.append(f"body{mark}:")
        self.store(node.target.id, Value(number, "i64"))
        self.loops.append((f"next{mark}", f"end{mark}"))
        self.block(node.body)
        self.loops.pop()
        self.label(f"next{mark}")
        self.do(f"store i64 {self.let(f'add nsw i64 {number}, {step}')}, ptr {counter}")
        self.do(f"br label %test{mark}" + (self.independence(begin) if free else ""))
        self.lines.append(f"end{mark}:")

    def independence(self, begin: int) -> str:
        """Mark what is read and written since a line as not depending on other turns of the loop that ends here."""
        known = self.module.metadata
        group = len(known)
        known += [f"!{group} = distinct !{{}}", f'!{group + 1} = !{{!"llvm.loop.parallel_accesses", !{group}}}']
        known.append(f"!{group + 2} = distinct !{{!{group + 2}, !{group + 1}}}")
        for place in range(begin, len(self.lines)):
            line = self.lines[place]
            if " = load " in line or line.startswith("  store "):
                self.lines[place] = f"{line}, !access.group !{group}"
        return f", !llvm.loop !{group + 2}"

    def bounds(self, node: ast.expr) -> tuple[str, str, str]:
        if isinstance(node, ast.Name) and node.id == self.module.units and node.id not in self.variables:
            return "%first", "%last", "1"
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"):
            raise self.refuse(node, "a loop goes over a range")
        given = [self.integer(argument) for argument in node.args]
        if len(given) == 1:
            return "0", given[0], "1"
        return given[0], given[1], given[2] if len(given) == 3 else "1"

    def do_While(self, node: ast.While) -> None:
        mark = self.fresh()
        self.label(f"next{mark}")
        self.branch(node.test, f"body{mark}", f"end{mark}")
        self.lines.append(f"body{mark}:")
        self.loops.append((f"next{mark}", f"end{mark}"))
        self.block(node.body)
        self.loops.pop()
        if not self.terminated():
            self.do(f"br label %next{mark}")
        self.lines.append(f"end{mark}:")

    def do_Break(self, node: ast.Break) -> None:
        self.do(f"br label %{self.loops[-1][1]}")

    def do_Continue(self, node: ast.Continue) -> None:
        self.do(f"br label %{self.loops[-1][0]}")

    def do_If(self, node: ast.If) -> None:
        mark = self.fresh()
        self.branch(node.test, f"then{mark}", f"else{mark}")
        self.lines.append(f"then{mark}:")
        self.block(node.body)
        if not self.terminated():
            self.do(f"br label %after{mark}")
        self.lines.append(f"else{mark}:")
        self.block(node.orelse)
        self.label(f"after{mark}")

    def branch(self, test: ast.expr, yes: str, no: str) -> None:
        """Go to one of two labels; `and` and `or` stop as soon as they know."""
        if isinstance(test, ast.BoolOp):
            for value in test.values[:-1]:
                further = f"further{self.fresh()}"
                self.branch(value, *((further, no) if isinstance(test.op, ast.And) else (yes, further)))
                self.lines.append(f"{further}:")
            self.branch(test.values[-1], yes, no)
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self.branch(test.operand, no, yes)
        else:
            self.do(f"br i1 {self.truth(self.expression(test))}, label %{yes}, label %{no}")

    # ---- parts --------------------------------------------------------------------------------------------------------------------

    def call_part(self, node: ast.Call, called: Part) -> Value:
        """Parts are inlined: their text is written where they are called."""
        if called.apart:
            return self.call_apart(node, called)
        inner = Translator(self.module, called.fn, within=self)
        for (name, kind), argument in zip(kinds_of(called.fn).items(), node.args, strict=True):
            if kind in ARRAYS:
                assert isinstance(argument, ast.Name)
                inner.arrays[name] = self.arrays[argument.id]
            else:
                inner.store(name, self.expression(argument))
        return inner.returned()

    def call_apart(self, node: ast.Call, called: Part) -> Value:
        """Parts that are apart are functions, made when they are first called."""
        kinds = kinds_of(called.fn)
        types = {kind: "ptr" if kind in ARRAYS else "i64" if kind == "i" else "double" for kind in kinds.values()}
        if called not in self.module.apart:
            inner = Translator(self.module, called.fn)
            for name, kind in kinds.items():
                inner.parameter(name, kind, f"%p_{name}")
            result = inner.returned()
            body = "\n".join([*inner.stack, *inner.lines])
            typed = ", ".join(f"{types[kind]} %p_{name}" for name, kind in kinds.items())
            head = f"define internal {result.type} @{called.__name__}({typed}) noinline"
            self.module.apart[called] = result.type, f"{head} {{\nentry:\n{body}\n  ret {result.type} {result.register}\n}}\n"
        given = []
        for kind, argument in zip(kinds.values(), node.args, strict=True):
            if kind in ARRAYS:
                assert isinstance(argument, ast.Name)
                given.append(f"ptr {self.arrays[argument.id][0]}")
            else:
                given.append(f"{types[kind]} {self.cast(self.expression(argument), types[kind], argument)}")
        type_ = self.module.apart[called][0]
        return Value(self.let(f"call {type_} @{called.__name__}({', '.join(given)})"), type_)

    def returned(self) -> Value:
        """What a part returns; nothing, if it says so."""
        if isinstance(self.tree.returns, ast.Constant) and self.tree.returns.value is None:
            self.block(self.tree.body)
            return Value("0", "i64")
        *body, last = self.tree.body
        self.block(body)
        if not isinstance(last, ast.Return) or last.value is None:
            raise self.refuse(last, "a part ends with a return")
        return self.expression(last.value)


def kinds_of(fn: Callable[..., Any]) -> dict[str, str]:
    """The kind of each parameter: an array (upper case), a number, the range of units, or in a part ("x") a number of any type."""
    found = {}
    for name, note in inspect.get_annotations(fn, eval_str=True).items():
        if name != "return":
            options = [one for one in getattr(note, "__args__", [note]) if one is not type(None)]
            found[name] = KINDS.get(options[0], "x")
    return found


class Module(Scope):
    """A kernel."""

    def __init__(self, fn: Callable[..., Any], kind: str, flags: str, parts: dict[str, Part] | None = None, result: str = "") -> None:
        super().__init__(kind, flags, parts, result)
        kinds = kinds_of(fn)
        notes = inspect.get_annotations(fn, eval_str=True)
        self.units = next((name for name, k in kinds.items() if k == "r"), "")
        translator = Translator(self, fn)
        parameters = []
        for name, k in kinds.items():
            if k == "r":
                continue
            type_ = "ptr" if k in ARRAYS else "i64" if k == "i" else "double"
            alone = " noalias" if k in "SRM" or notes[name] is Out or Out in getattr(notes[name], "__args__", ()) else ""
            parameters.append((f"{type_}{alone} %p_{name}", type_))
            translator.parameter(name, k, f"%p_{name}")
        translator.block(translator.tree.body)
        body = "\n".join([*translator.stack, *translator.lines])
        typed = ", ".join(text for text, _ in parameters)
        head = f"define internal void @inner({typed}, i64 %first, i64 %last) alwaysinline"
        inner = f"{head} {{\nentry:\n{body}\n  ret void\n}}\n"
        loads = []
        for place, (_, type_) in enumerate(parameters):
            loads += [f"  %a{place} = getelementptr i64, ptr %arguments, i64 {place}", f"  %x{place} = load {type_}, ptr %a{place}"]
        given = ", ".join(f"{type_} %x{place}" for place, (_, type_) in enumerate(parameters))
        outer = "define void @work(ptr noalias %arguments, i64 %first, i64 %last) {\nentry:\n" + "\n".join(loads)
        outer += f"\n  call void @inner({given}, i64 %first, i64 %last)\n  ret void\n}}\n"
        library, more = definitions(self.maths)
        functions = [text for _, text in self.apart.values()]
        self.text = "\n".join([*sorted(self.declared | more), library, *functions, inner, outer, *self.metadata])


def part_text(symbol: str, part: Part, doubles: str) -> tuple[str, Scope]:
    """A part as a function of doubles by itself."""
    scope = Scope("f64", REORDER, doubles=doubles)
    translator = Translator(scope, part.fn)
    names = list(kinds_of(part.fn))
    for name in names:
        translator.store(name, Value(f"%p_{name}", "double"))
    result = translator.returned()
    body = "\n".join([*translator.stack, *translator.lines])
    head = f"define internal double @{symbol}({', '.join(f'double %p_{name}' for name in names)}) alwaysinline"
    return f"{head} {{\nentry:\n{body}\n  ret double {translator.cast(result, 'double')}\n}}\n", scope


def parameter_kinds(loop: Loop) -> str:
    """The kinds of the parameters; those that may be None are followed by a question mark, arrays that are written to by a "!"."""
    notes = inspect.get_annotations(loop.fn, eval_str=True)
    written = written_arrays(loop.fn, loop.parts)
    marks = []
    for name, kind in kinds_of(loop.fn).items():
        optional = type(None) in getattr(notes[name], "__args__", ())
        marks.append(kind + "?" * optional + "!" * (name in written))
    return " ".join(marks)


def written_arrays(fn: Callable[..., Any], parts: dict[str, Part]) -> set[str]:
    """The names of arrays that a function writes to, by itself or by the parts that it calls."""
    found = set()
    for node in ast.walk(function_tree(fn)):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            found.add(node.value.id)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "fortran":
            found |= {place.value.id for place in node.args if isinstance(place, ast.Subscript) and isinstance(place.value, ast.Name)}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called = parts.get(node.func.id, fn.__globals__.get(node.func.id))
            if isinstance(called, Part):
                written = written_arrays(called.fn, parts)
                given = zip(kinds_of(called.fn), node.args, strict=True)
                found |= {argument.id for name, argument in given if name in written and isinstance(argument, ast.Name)}
    return found


def source(loop: Loop) -> str:
    """All text that a loop depends on."""
    parts = "".join(source_of(value.fn) for value in loop.fn.__globals__.values() if isinstance(value, Part))
    numbers = {n: v for n, v in loop.fn.__globals__.items() if isinstance(v, int | float | tuple) and n in loop.fn.__code__.co_names}
    given = "".join(f"{name}: {source_of(value.fn)}" for name, value in sorted(loop.parts.items()))
    return f"{sorted(numbers.items())} {source_of(loop.fn)} {parts} {given}"
