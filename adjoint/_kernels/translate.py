"""From a kernel's source to LLVM: the language of `loops.py`, statement by statement.

A variable is memory on the stack, which LLVM turns into registers; so loops need no phi nodes, and the text follows the source.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from itertools import count
from typing import Any

from . import elements, jit
from .code import constant
from .emit_types import register_type
from .loops import REORDER, Bools, Doubles, Floats, Ints, Loop, Out, Part, Results, Strided, Words
from .maths import FUNCTIONS, IN_LOOPS, definitions

KINDS: dict[Any, str] = {
    Floats: "T", Out: "T", Strided: "S", Results: "R", Ints: "I", Bools: "B", Words: "W", Doubles: "D", int: "i", float: "f", range: "r",
}  # fmt: skip
ARRAYS = "TSRIBWD"
# "T" and "S" have the kernel's kind of elements, "R" that of its results.
ELEMENTS = {"I": "i64", "B": "bool", "W": elements.WORD, "D": "f64"}
COMPUTED = {"f16": "f32", "bf16": "f32"}  # what is not computed with as it is
WIDTHS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}  # of integers
INTRINSICS = ("sqrt", "floor", "ceil", "trunc", "rint", "fma", "maximum", "minimum", "copysign")


class UnsupportedError(Exception):
    """A kernel says something that is not in the language."""


class Value:
    """A register with its type: float, double, i1, i64 or, of elements, a shorter integer. A literal has the type of what it meets."""

    __slots__ = ("literal", "register", "type")

    def __init__(self, register: str, type_: str, literal: float | None = None) -> None:
        self.register = register
        self.type = type_
        self.literal = literal


ORDERS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
OPERATIONS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("fadd", "add nsw"), ast.Sub: ("fsub", "sub nsw"), ast.Mult: ("fmul", "mul nsw"), ast.Div: ("fdiv", ""),
    ast.FloorDiv: ("", "sdiv"), ast.Mod: ("", "srem"), ast.BitAnd: ("", "and"), ast.BitOr: ("", "or"), ast.BitXor: ("", "xor"),
    ast.LShift: ("", "shl"), ast.RShift: ("", "lshr"),
}  # fmt: skip


class Translator:
    """One function of the language as LLVM text."""

    def __init__(self, module: Scope, fn: Callable[..., Any], within: Translator | None = None) -> None:
        self.module = module
        self.type = register_type(module.result)  # in which results are computed
        self.whole = self.type in WIDTHS
        self.fn = fn
        self.tree = function_tree(fn)
        self.lines: list[str] = within.lines if within else []
        self.stack: list[str] = within.stack if within else []
        self.fresh: Callable[[], int] = within.fresh if within else count(1).__next__  # numbers for names
        self.variables: dict[str, tuple[str, str]] = {}  # name -> where on the stack, type
        self.arrays: dict[str, tuple[str, str]] = {}  # name -> pointer, kind of the elements
        self.loops: list[tuple[str, str]] = []  # labels of the next turn and of the end

    # ---- text ---------------------------------------------------------------------------------------------------------------------

    def let(self, instruction: str) -> str:
        register = f"%r{self.fresh()}"
        self.lines.append(f"  {register} = {instruction}")
        return register

    def do(self, instruction: str) -> None:
        self.lines.append(f"  {instruction}")

    def label(self, name: str) -> None:
        if not self.terminated():
            self.do(f"br label %{name}")
        self.lines.append(f"{name}:")

    def terminated(self) -> bool:
        return bool(self.lines) and self.lines[-1].lstrip().startswith("br ")

    def refuse(self, node: ast.AST, what: str) -> UnsupportedError:
        line = getattr(node, "lineno", 0)
        return UnsupportedError(f"{self.fn.__name__}, line {line}: {what} ({ast.unparse(node)})")

    # ---- parameters ---------------------------------------------------------------------------------------------------------------

    def parameter(self, name: str, kind: str, register: str) -> None:
        if kind in ARRAYS:
            self.arrays[name] = register, ELEMENTS.get(kind, self.module.result if kind == "R" else self.module.kind)
        else:
            self.store(name, Value(register, "i64" if kind == "i" else "double"))

    # ---- statements ---------------------------------------------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            method = getattr(self, f"do_{type(statement).__name__}", None)
            if method is None:
                raise self.refuse(statement, "no such statement in the language")
            method(statement)

    def do_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            raise self.refuse(node, "an expression that does nothing")

    def do_Pass(self, node: ast.Pass) -> None:
        pass

    def do_Assign(self, node: ast.Assign) -> None:
        (target,) = node.targets
        call = node.value
        if isinstance(target, ast.Name) and isinstance(call, ast.Call) and ast.unparse(call.func) in ("at", "room"):
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
        where, kind = f"%v{self.fresh()}", COMPUTED.get(self.module.result, self.module.result)
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
        start, stop, step = self.bounds(node.iter)
        mark = self.fresh()
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
        self.do(f"br label %test{mark}")
        self.lines.append(f"end{mark}:")

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

    # ---- expressions --------------------------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> Value:
        method = getattr(self, f"of_{type(node).__name__}", None)
        if method is None:
            raise self.refuse(node, "no such expression in the language")
        return method(node)  # type: ignore[no-any-return]

    def integer(self, node: ast.expr) -> str:
        value = self.expression(node)
        if value.type != "i64":
            raise self.refuse(node, "an integer is needed here")
        return value.register

    def truth(self, value: Value) -> str:
        if value.type == "i1":
            return value.register
        if value.type in WIDTHS:
            return self.let(f"icmp ne {value.type} {value.register}, 0")
        return self.let(f"fcmp une {value.type} {value.register}, 0.0")

    def cast(self, value: Value, type_: str, node: ast.AST | None = None) -> str:
        """A value as another type, where that goes without saying."""
        if value.type == type_:
            return value.register
        if value.literal is not None:
            return self.number(value.literal, type_)
        if value.type in WIDTHS and type_ in WIDTHS and WIDTHS[value.type] < WIDTHS[type_]:
            return self.let(f"{'zext' if self.unsigned(value) else 'sext'} {value.type} {value.register} to {type_}")
        if value.type in WIDTHS and type_ in ("float", "double"):
            return self.let(f"{'uitofp' if self.unsigned(value) else 'sitofp'} {value.type} {value.register} to {type_}")
        raise UnsupportedError(f"{self.fn.__name__}: {value.type} where {type_} is needed" + (f" ({ast.unparse(node)})" if node else ""))

    def unsigned(self, value: Value) -> bool:
        return value.type == "i1" or (value.type == "i8" and self.module.kind in ("u8", "bool"))

    def number(self, value: float, type_: str) -> str:
        """A number as it stands in the text; of integers, infinity is the largest."""
        if type_ in ("float", "double"):
            return constant(value, "f32" if type_ == "float" else "f64")
        unsigned = self.module.result in ("u8", "bool") and type_ == "i8"
        least, most = (0, 255) if unsigned else (-(1 << WIDTHS[type_] - 1), (1 << WIDTHS[type_] - 1) - 1)
        return str(int(min(max(value, least), most)))

    def of_Constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, bool):
            return Value("true" if node.value else "false", "i1")
        if isinstance(node.value, int):
            return Value(str(node.value), "i64", node.value)
        if isinstance(node.value, float):
            return Value(self.number(node.value, self.type), self.type, node.value)
        raise self.refuse(node, "no such constant in the language")

    def of_Name(self, node: ast.Name) -> Value:
        if node.id in self.variables:
            where, type_ = self.variables[node.id]
            return Value(self.let(f"load {type_}, ptr {where}"), type_)
        known = self.fn.__globals__.get(node.id)
        if isinstance(known, int | float):
            return self.of_Constant(ast.Constant(known))
        raise self.refuse(node, "an unknown name")

    def of_Attribute(self, node: ast.Attribute) -> Value:
        if ast.unparse(node.value) == self.module.units and node.attr in ("start", "stop"):
            return Value("%first" if node.attr == "start" else "%last", "i64")
        raise self.refuse(node, "only the range of units has attributes, start and stop")

    def of_Subscript(self, node: ast.Subscript) -> Value:
        value = Value(*elements.read(self.let, *self.place(node)))
        if self.whole and WIDTHS.get(value.type, 64) < WIDTHS[self.type]:
            return Value(self.cast(value, self.type), self.type)  # before sums overflow
        return value

    def place(self, node: ast.Subscript) -> tuple[str, str]:
        """Where an element is, and its kind."""
        pointer, kind = self.array(node)
        memory = elements.memory_of(kind)
        return self.let(f"getelementptr inbounds {memory}, ptr {pointer}, i64 {self.integer(node.slice)}"), kind

    def array(self, node: ast.Subscript) -> tuple[str, str]:
        """Where an array begins, and the kind of its elements. A tuple of numbers is an array of doubles."""
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        if name in self.arrays:
            return self.arrays[name]
        numbers = self.fn.__globals__.get(name)
        if not isinstance(numbers, tuple):
            raise self.refuse(node, "not an element of an array")
        values = ", ".join(f"double {constant(number, 'f64')}" for number in numbers)
        self.module.declared.add(f"@{name} = private unnamed_addr constant [{len(numbers)} x double] [{values}]")
        return f"@{name}", "f64"

    def of_BinOp(self, node: ast.BinOp) -> Value:
        return self.operation(node, node.op, self.expression(node.left), self.expression(node.right))

    def operation(self, node: ast.AST, op: ast.operator, a: Value, b: Value) -> Value:
        if type(op) not in OPERATIONS:
            raise self.refuse(node, "no such operation in the language")
        floating, integral = OPERATIONS[type(op)]
        if a.type == "i64" and b.type == "i64" and integral:
            wrapping = integral.removesuffix(" nsw") if self.whole else integral  # elements may wrap around
            return Value(self.let(f"{wrapping} i64 {a.register}, {b.register}"), "i64")
        if a.type == "i1" and b.type == "i1" and integral in ("and", "or", "xor"):
            return Value(self.let(f"{integral} i1 {a.register}, {b.register}"), "i1")
        type_ = self.common(node, a, b)
        if type_ in WIDTHS and integral:
            floating, flags = integral.removesuffix(" nsw"), ""
        elif not floating or type_ in WIDTHS:
            raise self.refuse(node, "no operation of such numbers")
        else:
            flags = self.module.flags + " " if self.module.flags else ""
        return Value(self.let(f"{floating} {flags}{type_} {self.cast(a, type_, node)}, {self.cast(b, type_, node)}"), type_)

    def common(self, node: ast.AST, *values: Value) -> str:
        """The type in which values meet: integers follow floating numbers, short integers long ones, and literals all others."""
        types = {value.type for value in values if value.type in ("float", "double") and value.literal is None}
        if len(types) > 1:
            raise self.refuse(node, "float32 meets float64: say wide() or narrow()")
        if types or not self.whole:
            return types.pop() if types else self.type
        return max((value.type for value in values if value.literal is None), key=WIDTHS.__getitem__, default=self.type)

    def of_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            return Value(self.let(f"xor i1 {self.truth(value)}, true"), "i1")
        if isinstance(node.op, ast.USub) and value.literal is not None:
            return self.of_Constant(ast.Constant(-value.literal))
        if isinstance(node.op, ast.USub) and value.type == "i64":
            return Value(self.let(f"sub nsw i64 0, {value.register}"), "i64")
        if isinstance(node.op, ast.USub):
            return Value(self.let(f"fneg {value.type} {value.register}"), value.type)
        raise self.refuse(node, "no such operation in the language")

    def of_Compare(self, node: ast.Compare) -> Value:
        if isinstance(node.ops[0], ast.Is | ast.IsNot):
            assert isinstance(node.left, ast.Name)
            test = "eq" if isinstance(node.ops[0], ast.Is) else "ne"
            return Value(self.let(f"icmp {test} ptr {self.arrays[node.left.id][0]}, null"), "i1")
        if len(node.ops) != 1:
            raise self.refuse(node, "one comparison at a time")
        a, b, order = self.expression(node.left), self.expression(node.comparators[0]), ORDERS[type(node.ops[0])]
        type_ = a.type if a.type == b.type else self.common(node, a, b)
        if type_ in WIDTHS:
            signed = order if order in ("eq", "ne") else f"{'u' if self.unsigned(a) else 's'}{order}"
            return Value(self.let(f"icmp {signed} {type_} {self.cast(a, type_, node)}, {self.cast(b, type_, node)}"), "i1")
        ordered = "une" if order == "ne" else f"o{order}"
        return Value(self.let(f"fcmp {ordered} {type_} {self.cast(a, type_, node)}, {self.cast(b, type_, node)}"), "i1")

    def of_BoolOp(self, node: ast.BoolOp) -> Value:
        """Both sides are computed, unlike in an `if`."""
        word = "and" if isinstance(node.op, ast.And) else "or"
        result = self.truth(self.expression(node.values[0]))
        for value in node.values[1:]:
            result = self.let(f"{word} i1 {result}, {self.truth(self.expression(value))}")
        return Value(result, "i1")

    def of_IfExp(self, node: ast.IfExp) -> Value:
        return self.chosen(node, self.truth(self.expression(node.test)), self.expression(node.body), self.expression(node.orelse))

    def chosen(self, node: ast.AST, condition: str, a: Value, b: Value, hint: str = "") -> Value:
        type_ = a.type if a.type == b.type else self.common(node, a, b)
        a_register, b_register = self.cast(a, type_, node), self.cast(b, type_, node)
        return Value(self.let(f"select i1 {condition}, {type_} {a_register}, {type_} {b_register}{hint}"), type_)

    def of_Call(self, node: ast.Call) -> Value:
        if not isinstance(node.func, ast.Name):
            raise self.refuse(node, "not a function of the language")
        name = node.func.id
        known = self.module.parts.get(name, self.fn.__globals__.get(name))
        if isinstance(known, Part):
            return self.call_part(node, known)
        if name == "exactly":
            return self.exactly(node.args[0])
        if name == "precision":
            return self.of_Constant(ast.Constant(self.module.precision))
        values = [self.expression(argument) for argument in node.args]
        if name == "select":
            return self.chosen(node, self.truth(values[0]), values[1], values[2], ", !unpredictable !0")
        if name == "wide":
            return self.widened(values[0])
        if name in ("narrow", "float"):
            return Value(self.narrowed(values[0]), self.type)
        if name == "bits":
            whole = "i32" if values[0].type == "float" else "i64"
            pattern = self.let(f"bitcast {values[0].type} {values[0].register} to {whole}")
            return Value(pattern if whole == "i64" else self.let(f"zext i32 {pattern} to i64"), "i64")
        if name == "int" and values[0].type in WIDTHS:
            return Value(self.cast(values[0], "i64"), "i64")
        if name == "int":
            return Value(self.let(f"fptosi {values[0].type} {values[0].register} to i64"), "i64")
        if name == "abs" and values[0].type == "i64":
            return Value(self.intrinsic("abs", "i64", [values[0].register, "i1 false"]), "i64")
        if name in ("min", "max") and all(value.type == "i64" for value in values):
            return Value(self.intrinsic(f"s{name}", "i64", [value.register for value in values]), "i64")
        type_ = self.common(node, *values)
        registers = [self.cast(value, type_, node) for value in values]
        if name == "abs":
            return Value(self.intrinsic("fabs", type_, registers), type_)
        if name == "larger":
            order = self.let(f"fcmp nnan nsz ogt {type_} {registers[0]}, {registers[1]}")
            return Value(self.let(f"select nnan nsz i1 {order}, {type_} {registers[0]}, {type_} {registers[1]}"), type_)
        if type_ in WIDTHS and name in ("maximum", "minimum"):
            sign = "u" if self.unsigned(Value("", type_)) else "s"
            return Value(self.intrinsic(sign + name[:3], type_, registers), type_)
        if name in INTRINSICS:
            return Value(self.intrinsic(name, type_, registers), type_)
        if name in FUNCTIONS or name in IN_LOOPS:
            kind = "f32" if type_ == "float" else self.module.doubles
            self.module.maths.add((name, kind))
            return Value(self.let(f"call {type_} @m_{name}_{kind}({', '.join(f'{type_} {r}' for r in registers)})"), type_)
        raise self.refuse(node, "not a function of the language")

    def exactly(self, node: ast.expr) -> Value:
        flags, self.module.flags = self.module.flags, ""
        value = self.expression(node)
        self.module.flags = flags
        return value

    def widened(self, value: Value) -> Value:
        """As a double; a whole number in a kernel of such as 64 bits."""
        if self.whole and (value.type in WIDTHS or value.literal is not None):
            return Value(self.cast(value, "i64"), "i64")
        if value.type == "float" and value.literal is None:
            return Value(self.let(f"fpext float {value.register} to double"), "double")
        return Value(self.cast(value, "double"), "double")

    def narrowed(self, value: Value) -> str:
        if value.type == self.type or value.literal is not None:
            return self.cast(value, self.type)
        if value.type == "double" and self.type == "float":
            return self.let(f"fptrunc double {value.register} to float")
        if self.whole and value.type in ("float", "double"):
            return self.let(f"fptosi {value.type} {value.register} to {self.type}")
        if self.whole and WIDTHS[value.type] > WIDTHS[self.type]:
            return self.let(f"trunc {value.type} {value.register} to {self.type}")
        return self.cast(value, self.type)

    def intrinsic(self, name: str, type_: str, registers: list[str]) -> str:
        suffix = {"float": "f32", "double": "f64"}.get(type_, type_)
        typed = [register if " " in register else f"{type_} {register}" for register in registers]
        self.module.declared.add(f"declare {type_} @llvm.{name}.{suffix}({', '.join(one.split()[0] for one in typed)})")
        # Where sums may be reordered, it does not matter either which of the two zeros is the larger.
        flags = "nsz " if name in ("maximum", "minimum") and "nsz" in self.module.flags else ""
        return self.let(f"call {flags}{type_} @llvm.{name}.{suffix}({', '.join(typed)})")

    def call_part(self, node: ast.Call, called: Part) -> Value:
        """Parts are inlined: their text is written where they are called."""
        inner = Translator(self.module, called.fn, within=self)
        for (name, kind), argument in zip(kinds_of(called.fn).items(), node.args, strict=True):
            if kind in ARRAYS:
                assert isinstance(argument, ast.Name)
                inner.arrays[name] = self.arrays[argument.id]
            else:
                inner.store(name, self.expression(argument))
        return inner.returned()

    def returned(self) -> Value:
        """What a part returns."""
        *body, last = self.tree.body
        self.block(body)
        if not isinstance(last, ast.Return) or last.value is None:
            raise self.refuse(last, "a part ends with a return")
        return self.expression(last.value)


def function_tree(fn: Callable[..., Any]) -> ast.FunctionDef:
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(fn))).body
    assert isinstance(tree, ast.FunctionDef)
    return tree


def kinds_of(fn: Callable[..., Any]) -> dict[str, str]:
    """The kind of each parameter: an array (upper case), a number, the range of units, or in a part ("x") a number of any type."""
    found = {}
    for name, note in inspect.get_annotations(fn, eval_str=True).items():
        if name != "return":
            options = [one for one in getattr(note, "__args__", [note]) if one is not type(None)]
            found[name] = KINDS.get(options[0], "x")
    return found


class Scope:
    """What is translated for one kind of elements, and one of results. Functions of doubles are computed to the precision of float32 if
    their kind (`doubles`, see maths.py) says so."""

    def __init__(self, kind: str, flags: str, parts: dict[str, Part] | None = None, result: str = "", doubles: str = "f64") -> None:
        self.kind = kind
        self.result = result or kind
        self.flags = flags
        self.parts = parts or {}
        self.doubles = doubles
        self.precision = 2.0**-54 if (doubles.partition(".")[2] or self.result) == "f64" else 2.0**-30
        self.declared: set[str] = set()
        self.maths: set[tuple[str, str]] = set()
        self.units = ""


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
            alone = " noalias" if k in "SR" or notes[name] is Out or Out in getattr(notes[name], "__args__", ()) else ""
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
        self.text = "\n".join([*sorted(self.declared | more), library, inner, outer, "!0 = !{}"])


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
    written = {
        node.value.id
        for node in ast.walk(function_tree(loop.fn))
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)
    }
    marks = []
    for name, kind in kinds_of(loop.fn).items():
        optional = type(None) in getattr(notes[name], "__args__", ())
        marks.append(kind + "?" * optional + "!" * (name in written))
    return " ".join(marks)


def load(loop: Loop, kind: str, result: str = "") -> int:
    """The address of the code for a kind of elements, and for one of `Results` if it has any."""
    result = result if "R" in kinds_of(loop.fn).values() else ""
    parts = "".join(inspect.getsource(value.fn) for value in loop.fn.__globals__.values() if isinstance(value, Part))
    numbers = {n: v for n, v in loop.fn.__globals__.items() if isinstance(v, int | float | tuple) and n in loop.fn.__code__.co_names}
    given = "".join(f"{name}: {inspect.getsource(value.fn)}" for name, value in sorted(loop.parts.items()))
    description = f"loop {kind} {result} {loop.flags} {sorted(numbers.items())} {inspect.getsource(loop.fn)} {parts} {given}"
    return jit.load(description, lambda: Module(loop.fn, kind, loop.flags, loop.parts, result).text, ["work"])["work"]
