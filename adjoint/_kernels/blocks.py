"""LLVM text with loops and variables, for kernels that are written by hand.

A variable is memory on the stack; LLVM turns it into registers. So loops need no phi nodes, and a kernel reads like the loops that it is:

    f = Function("sum", "ptr %x", "i64 %n", "ptr %out")
    total = f.variable("float", "0.0")
    with f.loop("%n") as i:
        total.set(f.let(f"fadd float {total.get()}, {f.load('float', '%x', i)}"))
    f.store("float", total.get(), "%out")

A kernel that Python calls is told what it works on by a table of 64-bit numbers, sizes and addresses of memory. Their names are given in
one string, for the kernel (`fields`) and for its caller (`table`, or `builtin` in sharing.py); a name with a star is an address.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

Table = Any  # a ctypes array of 64-bit numbers


class Variable:
    """A number or a vector that changes."""

    def __init__(self, function: Function, type_: str, name: str) -> None:
        self.function = function
        self.type = type_
        self.name = name

    def get(self) -> str:
        return self.function.let(f"load {self.type}, ptr {self.name}")

    def set(self, value: str) -> None:
        self.function.do(f"store {self.type} {value}, ptr {self.name}")


class Function:
    """One function, written line by line."""

    def __init__(self, name: str, *arguments: str) -> None:
        self.name = name
        self.arguments = arguments
        self.stack: list[str] = []
        self.lines: list[str] = []
        self.count = 0

    def fresh(self) -> int:
        self.count += 1
        return self.count

    def let(self, instruction: str) -> str:
        register = f"%r{self.fresh()}"
        self.lines.append(f"  {register} = {instruction}")
        return register

    def do(self, instruction: str) -> None:
        self.lines.append(f"  {instruction}")

    def label(self, name: str) -> None:
        self.lines += [f"  br label %{name}", f"{name}:"]

    # ---- numbers ----------------------------------------------------------------------------------------------------------------

    def add(self, a: str, b: str | int) -> str:
        return self.let(f"add nsw i64 {a}, {b}")

    def sub(self, a: str, b: str | int) -> str:
        return self.let(f"sub nsw i64 {a}, {b}")

    def mul(self, a: str, b: str | int) -> str:
        return self.let(f"mul nsw i64 {a}, {b}")

    def less(self, a: str, b: str | int) -> str:
        return self.let(f"icmp slt i64 {a}, {b}")

    def equal(self, a: str, b: str | int) -> str:
        return self.let(f"icmp eq i64 {a}, {b}")

    def smaller(self, a: str, b: str | int) -> str:
        return self.pick(self.less(a, b), "i64", a, b)

    def larger(self, a: str, b: str | int) -> str:
        return self.pick(self.less(a, b), "i64", b, a)

    def both(self, a: str, b: str) -> str:
        return self.let(f"and i1 {a}, {b}")

    def either(self, a: str, b: str) -> str:
        return self.let(f"or i1 {a}, {b}")

    def pick(self, condition: str, type_: str, yes: str | int, no: str | int) -> str:
        return self.let(f"select i1 {condition}, {type_} {yes}, {type_} {no}")

    def quotient(self, a: str, b: str | int) -> str:
        """a / b of numbers that are not negative; if b is not known, in less time where that is a or 0."""
        if isinstance(b, int):
            return self.let(f"udiv i64 {a}, {b}")
        result = self.variable("i64", self.pick(self.less(a, b), "i64", 0, a))
        with self.when(self.both(self.invert(self.less(a, b)), self.invert(self.equal(b, 1)))):
            result.set(self.let(f"udiv i64 {a}, {b}"))
        return result.get()

    def quotient_up(self, a: str, b: str | int) -> str:
        """The same, rounded up."""
        return self.quotient(self.sub(self.add(a, b), 1), b)

    # ---- memory -----------------------------------------------------------------------------------------------------------------

    def at(self, type_: str, pointer: str, index: str | int) -> str:
        return self.let(f"getelementptr inbounds {type_}, ptr {pointer}, i64 {index}")

    def load(self, type_: str, pointer: str, index: str | int = 0, align: int = 0) -> str:
        where = pointer if index == 0 else self.at(type_, pointer, index)
        return self.let(f"load {type_}, ptr {where}" + (f", align {align}" if align else ""))

    def store(self, type_: str, value: str, pointer: str, align: int = 0) -> None:
        self.do(f"store {type_} {value}, ptr {pointer}" + (f", align {align}" if align else ""))

    def room(self, type_: str, align: int = 0) -> str:
        """Memory on the stack for the whole call."""
        name = f"%v{self.fresh()}"
        self.stack.append(f"  {name} = alloca {type_}" + (f", align {align}" if align else ""))
        return name

    def variable(self, type_: str, value: str) -> Variable:
        made = Variable(self, type_, self.room(type_))
        made.set(value)
        return made

    # ---- order ------------------------------------------------------------------------------------------------------------------

    @contextmanager
    def loop(self, stop: str | int, start: str | int = 0, step: str | int = 1, hints: str = "") -> Iterator[str]:
        """For every number from `start` to before `stop`. `hints` names the metadata of the loop."""
        mark = self.fresh()
        counter = self.variable("i64", str(start))
        self.label(f"test{mark}")
        number = counter.get()
        self.do(f"br i1 {self.less(number, stop)}, label %body{mark}, label %end{mark}")
        self.lines.append(f"body{mark}:")
        yield number
        counter.set(self.add(number, step))
        self.do(f"br label %test{mark}" + (f", !llvm.loop {hints}" if hints else ""))
        self.lines.append(f"end{mark}:")

    @contextmanager
    def positive(self, variable: Variable) -> Iterator[None]:
        """Again and again, as long as a number is positive."""
        mark = self.fresh()
        self.label(f"test{mark}")
        self.do(f"br i1 {self.less('0', variable.get())}, label %body{mark}, label %end{mark}")
        self.lines.append(f"body{mark}:")
        yield
        self.lines += [f"  br label %test{mark}", f"end{mark}:"]

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        mark = self.fresh()
        self.do(f"br i1 {condition}, label %then{mark}, label %after{mark}")
        self.lines.append(f"then{mark}:")
        yield
        self.label(f"after{mark}")

    def invert(self, condition: str) -> str:
        return self.let(f"xor i1 {condition}, true")

    def text(self, internal: bool = False, inline: bool = True) -> str:
        """Functions that are not to be inlined compile sooner."""
        head = f"define {'internal ' if internal else ''}void @{self.name}({', '.join(self.arguments)}){'' if inline else ' noinline'}"
        return "\n".join([f"{head} {{", "entry:", *self.stack, *self.lines, "  ret void", "}", ""])


# ---- calls from Python --------------------------------------------------------------------------------------------------------------


def fields(f: Function, names: str, facts: str = "%facts") -> dict[str, str]:
    """The numbers in a table, by name."""
    found = {}
    for place, name in enumerate(names.split()):
        name, star, _ = name.partition("*")
        found[name] = f.load("ptr" if star else "i64", f.at("i64", facts, place))
    return found


@cache
def order(names: str) -> tuple[str, ...]:
    return tuple(name.partition("*")[0] for name in names.split())


def table(names: str, **values: int) -> Table:
    """The arguments of a kernel, in order."""
    return (ctypes.c_int64 * len(values))(*map(values.__getitem__, order(names)))
