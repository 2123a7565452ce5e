"""Expressions of the language of `loops.py` as LLVM instructions. The statements around them are in `translate.py`."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any

from . import elements
from .code import constant
from .emit_types import register_type
from .loops import Part
from .maths import FUNCTIONS, IN_LOOPS

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
        self.apart: dict[Part, tuple[str, str]] = {}  # the type and the text of parts that are functions
        self.maths: set[tuple[str, str]] = set()
        self.metadata = ["!0 = !{}"]
        self.units = ""


class Expressions:
    """The expressions of one function. A variable is memory on the stack."""

    def __init__(self, module: Scope, fn: Callable[..., Any], within: Expressions | None = None) -> None:
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
        return Value(self.cast(value, self.type), self.type) if self.widens(value.type) else value

    def widens(self, type_: str) -> bool:
        """Whether elements become wider where they are read, before sums overflow."""
        return self.whole and WIDTHS.get(type_, 64) < WIDTHS[self.type]

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
        if name == "of_bits":
            whole = "i32" if self.type == "float" else "i64"
            pattern = self.let(f"trunc i64 {values[0].register} to i32") if whole == "i32" else values[0].register
            return Value(self.let(f"bitcast {whole} {pattern} to {self.type}"), self.type)
        if name.startswith("c_"):
            self.module.declared.add(f"declare double @{name[2:]}({', '.join(['double'] * len(values))})")
            given = ", ".join(f"double {self.cast(value, 'double', node)}" for value in values)
            return Value(self.let(f"call double @{name[2:]}({given}) nobuiltin"), "double")
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
        raise NotImplementedError


@cache
def source_of(fn: Callable[..., Any]) -> str:
    """The text of a function: the lines that its code comes from. (`inspect.getsource` reads every word to find the last of them, which
    takes longer than to read a compiled kernel from the cache.)"""
    code = fn.__code__
    ends = [end for _, end, _, _ in code.co_positions() if end]
    if not ends:  # Python was told not to keep them
        return textwrap.dedent(inspect.getsource(fn))
    lines = linecache.getlines(code.co_filename, fn.__globals__)
    return textwrap.dedent("".join(lines[code.co_firstlineno - 1 : max(ends)]))


def function_tree(fn: Callable[..., Any]) -> ast.FunctionDef:
    (tree,) = ast.parse(source_of(fn)).body
    assert isinstance(tree, ast.FunctionDef)
    return tree
