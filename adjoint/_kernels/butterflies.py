"""Fourier transforms of a few complex numbers, written by running the definition on symbols: what it computes is the LLVM text.

Each symbol stands for a vector, so that as many transforms are computed at once as a vector has lanes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .blocks import Function
from .code import TYPES, constant


class Lanes:
    """A vector of real numbers."""

    def __init__(self, f: Function, kind: str, lanes: int, register: str) -> None:
        self.f, self.kind, self.lanes, self.register = f, kind, lanes, register

    def operation(self, name: str, *operands: str) -> Lanes:
        text = f"{name} contract <{self.lanes} x {TYPES[self.kind]}> {', '.join(operands)}"
        return Lanes(self.f, self.kind, self.lanes, self.f.let(text))

    def __add__(self, other: Lanes) -> Lanes:
        return self.operation("fadd", self.register, other.register)

    def __sub__(self, other: Lanes) -> Lanes:
        return self.operation("fsub", self.register, other.register)

    def __mul__(self, other: Lanes | float) -> Lanes:
        if isinstance(other, Lanes):
            return self.operation("fmul", self.register, other.register)
        number = f"{TYPES[self.kind]} {constant(other, self.kind)}"
        return self.operation("fmul", self.register, f"<{', '.join([number] * self.lanes)}>")

    def __neg__(self) -> Lanes:
        return self.operation("fneg", self.register)


class Complex(NamedTuple):
    re: Lanes
    im: Lanes

    def plus(self, other: Complex) -> Complex:
        return Complex(self.re + other.re, self.im + other.im)

    def minus(self, other: Complex) -> Complex:
        return Complex(self.re - other.re, self.im - other.im)

    def times(self, c: Lanes | float, s: Lanes | float) -> Complex:
        """This, times c + s·i."""
        return Complex(self.re * c - self.im * s, self.im * c + self.re * s)

    def scaled(self, factor: Lanes | float) -> Complex:
        return Complex(self.re * factor, self.im * factor)

    def conjugate(self) -> Complex:
        return Complex(self.re, -self.im)

    def swapped(self) -> Complex:
        """The parts in each other's place. The transform of such numbers is that of the inverse transform."""
        return Complex(self.im, self.re)

    def turned(self, k: int, n: int) -> Complex:
        """This, times exp(-2πi·k/n)."""
        if 4 * k % n:
            return self.times(math.cos(2 * math.pi * k / n), -math.sin(2 * math.pi * k / n))
        re, im = self
        return Complex(*((re, im), (im, -re), (-re, -im), (-im, re))[4 * k // n % 4])


def dft(x: Sequence[Complex]) -> list[Complex]:
    """The sums of x[j] · exp(-2πi·j·k/n), for all k: by those of every r-th number, if n is a multiple of r (Cooley and Tukey)."""
    n = len(x)
    if n == 1:
        return list(x)
    if n == 2:
        return [x[0].plus(x[1]), x[0].minus(x[1])]
    r = next(size for size in range(math.isqrt(n), 0, -1) if n % size == 0)
    if r == 1:
        return dft_of_prime(x)
    parts, out = [dft(x[j::r]) for j in range(r)], list(x)
    for k in range(n // r):
        out[k :: n // r] = dft([part[k].turned(j * k, n) for j, part in enumerate(parts)])
    return out


def dft_of_prime(x: Sequence[Complex]) -> list[Complex]:
    """The same by cosines of the sums of two numbers, those that are j from both ends, and sines of their differences."""
    n, half = len(x), range(1, (len(x) + 1) // 2)
    sums, differences = [x[j].plus(x[-j]) for j in half], [x[j].minus(x[-j]).turned(1, 4) for j in half]
    out = [x[0]] * n
    for total in sums:
        out[0] = out[0].plus(total)
    for k in half:
        angles = [2 * math.pi * j * k / n for j in half]
        even, odd = x[0], differences[0].scaled(math.sin(angles[0]))
        for angle, total in zip(angles, sums, strict=True):
            even = even.plus(total.scaled(math.cos(angle)))
        for angle, difference in zip(angles[1:], differences[1:], strict=True):
            odd = odd.plus(difference.scaled(math.sin(angle)))
        out[k], out[-k] = even.plus(odd), even.minus(odd)
    return out
