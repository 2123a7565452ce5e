"""Small random loops in the language of kernels, compiled, against the same function run by Python. No rounding differs: all bits agree."""

from __future__ import annotations

import linecache
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

WIDTH = 6  # elements of a row
ROWS = 5
NUMBERS = ("0.5", "2.0", "-1.25", "3.0", "0.0", "1e30")
COMPARED = ("<", "<=", ">", ">=", "==", "!=")
HEAD = "def kernel(out: Out, x: Floats, y: Floats, k: Ints, n: int, rows: range) -> None:"
serial = count()


class Writer:
    """A function of the language, line by line. Variables are known from where they are first assigned to the end of that block."""

    def __init__(self, rng: random.Random) -> None:
        self.random = rng
        self.lines: list[str] = []
        self.names = count()

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def pick(self, options: Sequence[str]) -> str:
        return options[self.random.randrange(len(options))]

    def place(self, whole: list[str]) -> str:
        """An index within a row, as an expression."""
        return f"i * {WIDTH} + ({self.whole(whole, 1)}) % {WIDTH}"

    def whole(self, known: list[str], depth: int = 2) -> str:
        """A non-negative integer, of no great size."""
        if depth == 0 or self.chance(0.3):
            return self.pick([*known, "i", "n", str(self.random.randrange(9)), "k[i]"])
        a, b = self.whole(known, depth - 1), self.whole(known, depth - 1)
        return self.pick([
            f"({a} % 97 + {b} % 89)", f"({a} % 31) * ({b} % 29)", f"{a} // ({b} % 7 + 1)", f"({a}) % ({b} % 7 + 1)", f"max({a}, {b})",
            f"min({a}, {b})", f"(({a}) & ({b}))", f"(({a}) | ({b}))", f"(({a}) ^ ({b}))", f"(({a} % 64) << ({b} % 4))",
            f"(({a}) >> ({b} % 5))", f"abs({a} % 50 - {b} % 50)", f"({a} if {self.test([], known)} else {b})",
        ])  # fmt: skip

    def number(self, floats: list[str], whole: list[str], depth: int = 2) -> str:
        """A floating-point number of the kernel's type."""
        if depth == 0 or self.chance(0.25):
            return self.pick([*floats, *floats, f"x[{self.place(whole)}]", f"y[{self.place(whole)}]"])
        a, b = self.number(floats, whole, depth - 1), self.number(floats, whole, depth - 1)
        return self.pick([
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / {b})", f"({a} * {self.pick(NUMBERS)})",
            f"({a} + {self.pick(NUMBERS)})", f"(-{a})", f"abs({a})", f"maximum({a}, {b})", f"minimum({a}, {b})", f"sqrt(abs({a}))",
            f"floor({a})", f"ceil({a})", f"trunc({a})", f"rint({a})", f"copysign({a}, {b})",
            f"({a} if {self.test(floats, whole)} else {b})",
            f"select({self.test(floats, whole)}, {a}, {b})", f"narrow(wide({a}) * wide({b}))",
            f"narrow(wide({a}) + {self.pick(NUMBERS)})",
            f"({a} + {self.whole(whole, 1)})",
        ])  # fmt: skip

    def test(self, floats: list[str], whole: list[str]) -> str:
        a, b = self.whole(whole, 0), self.whole(whole, 0)
        if floats and self.chance(0.6):
            a, b = self.number(floats, whole, 0), self.pick([*NUMBERS[:5], self.number(floats, whole, 0)])
        simple = f"({a} {self.pick(COMPARED)} {b})"
        if self.chance(0.2):
            return f"({simple} {self.pick(['and', 'or'])} {self.test(floats, whole)})"
        return f"(not {simple})" if self.chance(0.1) else simple

    def block(self, indent: str, floats: list[str], whole: list[str], depth: int, inside: bool) -> None:
        floats, whole, before = list(floats), list(whole), len(self.lines)
        for _ in range(self.random.randint(1, 4)):
            kind = self.random.randrange(9)
            if kind == 0 or not floats:
                name = f"f{next(self.names)}"
                self.lines.append(f"{indent}{name} = {self.number(floats, whole)}")
                floats.append(name)
            elif kind == 1:
                name = f"m{next(self.names)}"
                self.lines.append(f"{indent}{name} = {self.whole(whole)}")
                whole.append(name)
            elif kind == 2:
                self.lines.append(f"{indent}{self.pick(floats)} {self.pick(['+', '-', '*', ''])}= {self.number(floats, whole)}")
            elif kind == 3:
                self.lines.append(f"{indent}out[{self.place(whole)}] = {self.number(floats, whole)}")
            elif kind == 4:
                self.lines.append(f"{indent}out[{self.place(whole)}] {self.pick('+-*')}= {self.number(floats, whole)}")
            elif kind == 5 and depth:
                self.lines.append(f"{indent}if {self.test(floats, whole)}:")
                self.block(indent + "    ", floats, whole, depth - 1, inside)
                if self.chance(0.5):
                    self.lines.append(f"{indent}else:")
                    self.block(indent + "    ", floats, whole, depth - 1, inside)
            elif kind == 6 and depth:
                name = f"j{next(self.names)}"
                bounds = self.pick(["3", f"({self.whole(whole, 1)}) % 4", "2, 6, 2", "5, 0, -2", f"n % 3, {self.random.randint(2, 5)}"])
                self.lines.append(f"{indent}for {name} in range({bounds}):")
                self.block(indent + "    ", floats, [*whole, name], depth - 1, True)
            elif kind == 7 and depth:
                name = f"w{next(self.names)}"
                self.lines += [f"{indent}{name} = ({self.whole(whole, 1)}) % 5", f"{indent}while {name} > 0:", f"{indent}    {name} -= 1"]
                self.block(indent + "    ", floats, [*whole, name], depth - 1, True)
            elif kind == 8 and inside:
                self.lines += [f"{indent}if {self.test(floats, whole)}:", f"{indent}    {self.pick(['break', 'continue'])}"]
        if len(self.lines) == before:
            self.lines.append(f"{indent}pass")

    def source(self) -> str:
        self.lines = [HEAD, "    for i in rows:", f"        f = x[i * {WIDTH}]"]
        self.block("        ", ["f"], [], 3, False)
        self.lines.append(f"        out[i * {WIDTH}] = f")
        return "\n".join(self.lines) + "\n"


def defined(source: str, names: dict[str, Any]) -> Callable[..., Any]:
    """The function of a text, which others can read as if it were in a file."""
    file = f"<kernel {next(serial)}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    space = dict(names)
    exec(compile(source, file, "exec"), space)
    function: Callable[..., Any] = space["kernel"]
    return function


def in_python(dtype: Any) -> dict[str, Any]:
    """The functions of the language, for Python."""

    def extreme(pick: Any) -> Any:
        return lambda a, b: dtype(a) if a != a else dtype(b) if b != b else pick(dtype(a), dtype(b))

    names = {name: getattr(np, name) for name in ("sqrt", "floor", "ceil", "trunc", "rint", "copysign")}
    names |= {"maximum": extreme(np.maximum), "minimum": extreme(np.minimum), "select": lambda c, a, b: a if c else b}
    return names | {"wide": np.float64, "narrow": dtype, "Out": Any, "Floats": Any, "Ints": Any}


def check(rng: random.Random) -> str:
    """Compile a function and compare; what is wrong, or nothing."""
    from adjoint._kernels import loops

    source = Writer(rng).source()
    dtype: Any = rng.choice([np.float32, np.float64])
    values = np.random.default_rng(rng.randrange(2**32))
    size = ROWS * WIDTH
    x, y = (values.choice([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-40, 3.7], size).astype(dtype) for _ in range(2))
    if rng.random() < 0.7:
        x, y = (values.uniform(-3, 3, size).astype(dtype) for _ in range(2))
    k, n = values.integers(0, 20, ROWS), rng.randrange(12)
    expected, got = np.zeros(size, dtype), np.zeros(size, dtype)
    with np.errstate(all="ignore"):
        defined(source, in_python(dtype))(expected, x, y, k.tolist(), n, range(ROWS))
    before, folder = os.environ.get("ADJOINT_CACHE_DIR"), tempfile.mkdtemp()
    os.environ["ADJOINT_CACHE_DIR"] = folder
    try:
        kernel = loops.loop(defined(source, vars(loops)))
        loops.LOOPS.remove(kernel)
        served = kernel.run(got, x, y, k, n, ROWS, WIDTH)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.environ.pop("ADJOINT_CACHE_DIR")
        if before is not None:
            os.environ["ADJOINT_CACHE_DIR"] = before
    if served is None and os.environ.get("ADJOINT_KERNELS") != "0":
        return f"the kernel does not serve\n{source}"
    if served and not ((got == expected) | ((got != got) & (expected != expected))).all():
        shown = f"x {x.tolist()}\ny {y.tolist()}\nk {k.tolist()}, n {n}, {dtype.__name__}\n{source}"
        return f"compiled {got.tolist()}\nby Python {expected.tolist()}\n{shown}"
    return ""
