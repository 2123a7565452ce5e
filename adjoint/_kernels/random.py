"""Normal random numbers in float32, eight at a time: the arithmetic of `_random/_continuous.py`, instruction for instruction.

It gives the same bits, so that it makes no difference to a program when it comes into use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._random import _continuous as reference
from . import calls, jit
from .code import constant

FLOATS, DOUBLES, INTEGERS, TRUTHS = "<8 x float>", "<8 x double>", "<8 x i32>", "<8 x i1>"


class Code:
    """Instructions on vectors of eight, written with fresh registers."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def let(self, instruction: str) -> str:
        self.lines.append(f"  %r{len(self.lines)} = {instruction}")
        return f"%r{len(self.lines) - 1}"

    def on_floats(self, name: str, a: str, b: str) -> str:
        return self.let(f"{name} {FLOATS} {a}, {b}")

    def on_integers(self, name: str, a: str, b: str | int) -> str:
        return self.let(f"{name} {INTEGERS} {a}, {integer(b) if isinstance(b, int) else b}")

    def fma(self, a: str, b: str, c: str) -> str:
        return self.let(f"call {FLOATS} @llvm.fma.v8f32({FLOATS} {a}, {FLOATS} {b}, {FLOATS} {c})")

    def horner(self, coefficients: Sequence[float], x: str) -> str:
        result = number(coefficients[0])
        for coefficient in coefficients[1:]:
            result = self.fma(result, x, number(coefficient))
        return result

    def convert(self, name: str, a: str, source: str, target: str) -> str:
        return self.let(f"{name} {source} {a} to {target}")

    def select(self, condition: str, yes: str, no: str) -> str:
        return self.let(f"select {TRUTHS} {condition}, {FLOATS} {yes}, {FLOATS} {no}")


def number(value: float) -> str:
    return f"<{', '.join(['float ' + constant(value, 'f32')] * 8)}>"


def integer(value: int) -> str:
    return f"<{', '.join([f'i32 {value}'] * 8)}>"


def radius(c: Code, integers: str) -> str:
    """sqrt(-2 log(1 - integers / 2**24))."""
    bits = c.convert("bitcast", c.on_floats("fsub", number(0x1000000), integers), FLOATS, INTEGERS)
    exponent = c.on_integers("ashr", c.on_integers("sub", bits, int(reference._SQRT_HALF_BITS)), 23)
    mantissa = c.on_integers("sub", bits, c.on_integers("shl", exponent, 23))
    x = c.on_floats("fsub", c.convert("bitcast", mantissa, INTEGERS, FLOATS), number(1))
    power = c.convert("sitofp", c.on_integers("sub", exponent, 24), INTEGERS, FLOATS)
    square = c.on_floats("fmul", x, x)
    y = c.on_floats("fmul", c.horner(reference._LOG, x), x)
    y = c.fma(y, square, c.on_floats("fmul", power, number(reference._LN2[1])))
    y = c.on_floats("fsub", y, c.on_floats("fmul", square, number(0.5)))
    log = c.on_floats("fadd", c.on_floats("fadd", x, y), c.on_floats("fmul", power, number(reference._LN2[0])))
    return c.let(f"call {FLOATS} @llvm.sqrt.v8f32({FLOATS} {c.on_floats('fmul', log, number(-2))})")


def sine_and_cosine(c: Code, integers: str) -> tuple[str, str, str]:
    """Of 2 pi integers / 2**24, without their signs, and the octant, which has them."""
    turn = float(np.float32(2 * np.pi) * np.float32(2**-24))
    angle = c.on_floats("fmul", integers, number(turn))
    octant = c.convert("fptosi", c.on_floats("fmul", angle, number(4 / np.pi)), FLOATS, INTEGERS)
    octant = c.on_integers("and", c.on_integers("add", octant, 1), -2)
    turns = c.convert("sitofp", octant, INTEGERS, FLOATS)
    x = angle
    for part in reference._QUARTER_PI:
        x = c.fma(turns, number(-part), x)
    square = c.on_floats("fmul", x, x)
    sine = c.fma(c.on_floats("fmul", c.horner(reference._SIN, square), square), x, x)
    cosine = c.on_floats("fmul", c.horner(reference._COS, square), square)
    cosine = c.on_floats("fadd", c.fma(cosine, square, c.on_floats("fmul", square, number(-0.5))), number(1))
    swap = c.let(f"icmp ne {INTEGERS} {c.on_integers('and', octant, 2)}, {integer(0)}")
    return c.select(swap, cosine, sine), c.select(swap, sine, cosine), octant


def with_sign(c: Code, value: str, octant: str) -> str:
    """A number with its sign changed in the lower half of the circle."""
    sign = c.on_integers("shl", c.on_integers("and", octant, 4), 29)
    return c.convert("bitcast", c.on_integers("xor", c.convert("bitcast", value, FLOATS, INTEGERS), sign), INTEGERS, FLOATS)


def scaled(c: Code, value: str) -> str:
    """A normal number times the standard deviation, plus the mean, in double precision."""
    wide = c.let(f"fmul {DOUBLES} {c.convert('fpext', value, FLOATS, DOUBLES)}, %stds")
    return c.convert("fptrunc", c.let(f"fadd {DOUBLES} {wide}, %means"), DOUBLES, FLOATS)


def splat(name: str) -> str:
    """The instructions that fill a vector `%names` with a double `%name`."""
    one = f"%one_{name} = insertelement {DOUBLES} poison, double %{name}, i64 0"
    return f"{one}\n  %{name}s = shufflevector {DOUBLES} %one_{name}, {DOUBLES} poison, {INTEGERS} zeroinitializer"


def text() -> str:
    """The loop over blocks. A block is eight integers for radii and eight for angles, as floats, and becomes sixteen normals. The
    arguments are where they are, the standard deviation and the mean."""
    c = Code()
    r = radius(c, c.let(f"load {FLOATS}, ptr %p, align 4"))
    sine, cosine, octant = sine_and_cosine(c, c.let(f"load {FLOATS}, ptr %p2, align 4"))
    first = scaled(c, c.on_floats("fmul", with_sign(c, r, c.on_integers("add", octant, 2)), cosine))
    second = scaled(c, c.on_floats("fmul", with_sign(c, r, octant), sine))
    body = "\n".join(c.lines)
    return f"""
declare {FLOATS} @llvm.fma.v8f32({FLOATS}, {FLOATS}, {FLOATS})
declare {FLOATS} @llvm.sqrt.v8f32({FLOATS})
define void @box_muller(ptr %arguments, i64 %first, i64 %last) {{
entry:
  %numbers = load ptr, ptr %arguments
  %std_at = getelementptr i64, ptr %arguments, i64 1
  %std = load double, ptr %std_at
  %mean_at = getelementptr i64, ptr %arguments, i64 2
  %mean = load double, ptr %mean_at
  {splat("std")}
  {splat("mean")}
  %some = icmp slt i64 %first, %last
  br i1 %some, label %loop, label %done
loop:
  %b = phi i64 [%first, %entry], [%next, %loop]
  %at = shl nuw nsw i64 %b, 4
  %p = getelementptr float, ptr %numbers, i64 %at
  %p2 = getelementptr float, ptr %p, i64 8
{body}
  store {FLOATS} {first}, ptr %p, align 4
  store {FLOATS} {second}, ptr %p2, align 4
  %next = add nuw nsw i64 %b, 1
  %more = icmp slt i64 %next, %last
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def box_muller() -> Callable[[Any, float, float, int, int], Any]:
    """The compiled form of `_by_numpy`."""
    program = text()
    address = jit.load(program, lambda: program, ["box_muller"])["box_muller"]
    return calls.Kernel("box_muller", "T! f f r", lambda kind: address, ("f32",)).call
