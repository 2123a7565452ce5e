"""The types of elements that kernels read and write, and how each is computed with.

Half precision exists in memory only: an element is widened to float32 when it is read, and rounded, to the nearest even, when it is
written. A complex number is two of its parts, one after the other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import jit
from .code import TYPES


class Kind(NamedTuple):
    """A type of elements: NumPy's name for it, how memory holds it, its size in bytes, and the numbers that are exact in it."""

    dtype: str
    memory: str
    size: int
    computed: str  # the kind in which an emitter computes with it
    least: float = -np.inf
    most: float = np.inf

    @property
    def parts(self) -> int:
        return 2 if self.computed.startswith("c") else 1

    @property
    def whole(self) -> bool:
        """Whether it holds integers (or truth values)."""
        return self.computed.startswith(("i", "u"))


EXACT = 2.0**53 - 1  # integers up to here are what a double says they are

KINDS = {
    "f32": Kind("float32", "float", 4, "f32"),
    "f64": Kind("float64", "double", 8, "f64"),
    "f16": Kind("float16", "half", 2, "f32"),
    "bf16": Kind("bfloat16", "i16", 2, "f32"),
    "i64": Kind("int64", "i64", 8, "i64", -EXACT, EXACT),
    "bool": Kind("bool", "i8", 1, "u8", 1, 0),  # no number is one: with a number, truth values are promoted
    "i32": Kind("int32", "i32", 4, "i32", -(2.0**31), 2.0**31 - 1),
    "i16": Kind("int16", "i16", 2, "i16", -(2.0**15), 2.0**15 - 1),
    "i8": Kind("int8", "i8", 1, "i8", -128, 127),
    "u8": Kind("uint8", "i8", 1, "u8", 0, 255),
    "c64": Kind("complex64", "float", 8, "c64"),
    "c128": Kind("complex128", "double", 16, "c128"),
}
PARTS = {"c64": "f32", "c128": "f64"}  # the kind of the parts of complex numbers
BY_DTYPE = {kind.dtype: name for name, kind in KINDS.items()}


def served(kind: str) -> bool:
    """Whether this CPU converts the type by an instruction."""
    return kind != "f16" or bool(jit.llvm().get_host_cpu_features().get("f16c", True))


def register_type(kind: str) -> str:
    """The LLVM type of what an element is in a register (of a complex number: each part)."""
    computed = KINDS[kind].computed
    return TYPES.get(computed) or TYPES.get(PARTS.get(computed, "")) or f"i{computed[1:]}"


def loading(kind: str, pointer: str, name: str) -> tuple[list[str], list[str]]:
    """The instructions that read element `%i`, and the registers it is in."""
    memory, size, parts = KINDS[kind].memory, KINDS[kind].size, KINDS[kind].parts
    if parts == 2:
        first, second, half = f"%q{name}", f"%s{name}", size // 2
        lines = [f"{first} = getelementptr [2 x {memory}], ptr {pointer}, i64 %i", f"{second} = getelementptr {memory}, ptr {first}, i64 1"]
        lines += [f"%re{name} = load {memory}, ptr {first}, align {half}", f"%im{name} = load {memory}, ptr {second}, align {half}"]
        return lines, [f"%re{name}", f"%im{name}"]
    lines = [f"%q{name} = getelementptr {memory}, ptr {pointer}, i64 %i", f"%l{name} = load {memory}, ptr %q{name}, align {size}"]
    if kind == "bool":
        lines.append(f"%v{name} = icmp ne i8 %l{name}, 0")
    elif kind == "f16":
        lines.append(f"%v{name} = fpext half %l{name} to float")
    elif kind == "bf16":
        lines += [f"%w{name} = zext i16 %l{name} to i32", f"%h{name} = shl i32 %w{name}, 16", f"%v{name} = bitcast i32 %h{name} to float"]
    else:
        return lines, [f"%l{name}"]
    return lines, [f"%v{name}"]


FENCE = "declare float @llvm.canonicalize.f32(float)"


def storing(kind: str, pointer: str, values: list[str]) -> list[str]:
    """The instructions that write element `%i` from registers; a truth value is a byte."""
    memory, size, parts = KINDS[kind].memory, KINDS[kind].size, KINDS[kind].parts
    if parts == 2:
        lines = [f"%qo = getelementptr [2 x {memory}], ptr {pointer}, i64 %i", f"%so = getelementptr {memory}, ptr %qo, i64 1"]
        half = size // 2
        return [*lines, f"store {memory} {values[0]}, ptr %qo, align {half}", f"store {memory} {values[1]}, ptr %so, align {half}"]
    (value,) = values
    lines = [f"%qo = getelementptr {memory}, ptr {pointer}, i64 %i"]
    if kind == "f16":
        # Without something in between, LLVM would round a double, rounded to a float, to a half at once, for which there is no instruction.
        lines += [f"%fo = call float @llvm.canonicalize.f32(float {value})", "%ro = fptrunc float %fo to half"]
        value = "%ro"
    elif kind == "bf16":
        # Adding just below half of the last place, and one more where that place is odd, rounds to the nearest even.
        lines += [
            f"%ro0 = bitcast float {value} to i32", "%ro1 = lshr i32 %ro0, 16", "%ro2 = and i32 %ro1, 1", "%ro3 = add i32 %ro2, 32767",
            "%ro4 = add i32 %ro0, %ro3", "%ro5 = lshr i32 %ro4, 16", f"%ro6 = fcmp uno float {value}, 0.0",
            "%ro7 = select i1 %ro6, i32 32704, i32 %ro5", "%ro = trunc i32 %ro7 to i16",
        ]  # fmt: skip
        value = "%ro"
    return [*lines, f"store {memory} {value}, ptr %qo, align {size}"]
