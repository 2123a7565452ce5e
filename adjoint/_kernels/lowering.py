"""What CPUs of the lowest level have no instructions for, in the instructions that they have.

Multiplication and addition with one rounding: the C library has a function for it, but vectors end at a call, and without the instruction
it takes a hundred times as long. Here the product is exact: for float32 as a double, for doubles as a sum of two (Dekker, 1971). So the
error of a product, for which functions need this operation, comes out exactly; other results are, very rarely, rounded the other way. Where
the parts of a product overflow, or fall below the smallest numbers, the product is rounded first.

Half precision: LLVM would call functions that are in a compiler's library, which a process need not have.
"""

from __future__ import annotations

import re

from .code import TYPES

FUSED = re.compile(r"@llvm\.fma\.(?:v(\d+))?(f32|f64)\b")
CANONICAL = re.compile(r"call float @llvm\.canonicalize\.f32\(float (\S+)\)")
FROM_HALF, TO_HALF = re.compile(r"fpext half (\S+) to float"), re.compile(r"fptrunc float (\S+) to half")

HALF = """
define internal float @from_half(half %x) alwaysinline {
  %short = bitcast half %x to i16
  %bits = zext i16 %short to i32
  %size = and i32 %bits, 32767
  %shifted = shl i32 %size, 13
  %small = bitcast i32 %shifted to float
  %scaled = fmul float %small, 0x46F0000000000000
  %usual = bitcast float %scaled to i32
  %strange = or i32 %shifted, 2139095040
  %is_strange = icmp uge i32 %size, 31744
  %found = select i1 %is_strange, i32 %strange, i32 %usual
  %top = xor i32 %bits, %size
  %sign = shl i32 %top, 16
  %all = or i32 %found, %sign
  %result = bitcast i32 %all to float
  ret float %result
}
define internal half @to_half(float %x) alwaysinline {
  %bits = bitcast float %x to i32
  %size = and i32 %bits, 2147483647
  %is_nan = icmp ugt i32 %size, 2139095040
  %is_large = icmp uge i32 %size, 1199570944
  %is_small = icmp ult i32 %size, 947912704
  %payload = lshr i32 %size, 13
  %quiet = or i32 %payload, 32256
  %nan = and i32 %quiet, 32767
  %large = select i1 %is_nan, i32 %nan, i32 31744
  %value = bitcast i32 %size to float
  %rounded = fadd float %value, 0.5
  %rounded_bits = bitcast float %rounded to i32
  %small = sub i32 %rounded_bits, 1056964608
  %odd = and i32 %payload, 1
  %moved = add i32 %size, -939520001
  %up = add i32 %moved, %odd
  %usual = lshr i32 %up, 13
  %some = select i1 %is_small, i32 %small, i32 %usual
  %found = select i1 %is_large, i32 %large, i32 %some
  %top = xor i32 %bits, %size
  %sign = lshr i32 %top, 16
  %all = or i32 %found, %sign
  %short = trunc i32 %all to i16
  %result = bitcast i16 %short to half
  ret half %result
}
"""  # by Giesen: the CPU rounds subnormal numbers when 0.5 is added, and others are rounded by a carry


class Text:
    """A function under construction, of vectors or of single numbers."""

    def __init__(self, lanes: str) -> None:
        self.lanes = lanes
        self.lines: list[str] = []

    def of(self, type_: str) -> str:
        return f"<{self.lanes} x {type_}>" if self.lanes else type_

    def all(self, type_: str, value: str) -> str:
        """A constant in all lanes."""
        return f"<{', '.join([f'{type_} {value}'] * int(self.lanes))}>" if self.lanes else value

    def let(self, instruction: str) -> str:
        self.lines.append(f"  %v{len(self.lines)} = {instruction}")
        return f"%v{len(self.lines) - 1}"

    def __call__(self, name: str, a: str, b: str) -> str:
        return self.let(f"{name} {self.of('double')} {a}, {b}")

    def convert(self, name: str, value: str, given: str, wanted: str) -> str:
        return self.let(f"{name} {self.of(given)} {value} to {self.of(wanted)}")


def halves(f: Text, x: str) -> tuple[str, str]:
    large = f("fmul", x, f.all("double", "0x41A0000002000000"))  # 2**27 + 1
    high = f("fsub", large, f("fsub", large, x))
    return high, f("fsub", x, high)


def exact_product(f: Text, a: str, b: str) -> tuple[str, str]:
    product = f("fmul", a, b)
    (a_high, a_low), (b_high, b_low) = halves(f, a), halves(f, b)
    rest = f("fsub", f("fmul", a_high, b_high), product)
    for some in ((a_high, b_low), (a_low, b_high), (a_low, b_low)):
        rest = f("fadd", rest, f("fmul", *some))
    return product, rest


def exact_sum(f: Text, a: str, b: str) -> tuple[str, str]:
    total = f("fadd", a, b)
    added = f("fsub", total, a)
    return total, f("fadd", f("fsub", a, f("fsub", total, added)), f("fsub", b, added))


def definition(lanes: str, kind: str) -> str:
    f, type_ = Text(lanes), TYPES[kind]
    if kind == "f32":
        a, b, c = (f.convert("fpext", x, "float", "double") for x in ("%a", "%b", "%c"))
        result = f.convert("fptrunc", f("fadd", f("fmul", a, b), c), "double", "float")
    else:
        product, rest = exact_product(f, "%a", "%b")
        total, lost = exact_sum(f, product, "%c")
        rest = f("fadd", lost, rest)
        # The rest of what overflows says nothing; and a zero keeps its sign.
        finite, some = f("fcmp ord", f("fsub", rest, rest), f.all("double", "0.0")), f("fcmp one", rest, f.all("double", "0.0"))
        counts = f.let(f"and {f.of('i1')} {finite}, {some}")
        result = f.let(f"select {f.of('i1')} {counts}, {f.of(type_)} {f('fadd', total, rest)}, {f.of(type_)} {total}")
    t = f.of(type_)
    head = f"define internal {t} @fused.{lanes}{kind}({t} %a, {t} %b, {t} %c) alwaysinline {{"
    return "\n".join([head, *f.lines, f"  ret {t} {result}", "}"])


def lowered(text: str) -> str:
    """A module with functions in the place of instructions."""
    used = sorted(set(FUSED.findall(text)))
    if used:
        text = "\n".join(line for line in text.splitlines() if not (line.startswith("declare ") and FUSED.search(line)))
        text = "\n".join([FUSED.sub(r"@fused.\1\2", text), *(definition(*kind) for kind in used), ""])
    if " half " in text:
        text = CANONICAL.sub(r"fadd float \1, -0.0", text)  # which LLVM cannot translate here
        text = TO_HALF.sub(r"call half @to_half(float \1)", FROM_HALF.sub(r"call float @from_half(half \1)", text)) + HALF
    return text
