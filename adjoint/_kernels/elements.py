"""Elements of arrays in kernels that are written as loops: how memory holds them, and what they are in a register."""

from __future__ import annotations

from collections.abc import Callable

from .emit_types import FENCE, KINDS

Let = Callable[[str], str]  # writes an instruction, and gives the register of its result

WORD = "u32"  # integers of 32 bits without a sign: 64-bit ones in registers
DECLARED = {FENCE}  # what `rounded` calls


def memory_of(kind: str) -> str:
    """The LLVM type of an element in memory."""
    return "i32" if kind == WORD else KINDS[kind].memory


def read(let: Let, where: str, kind: str) -> tuple[str, str]:
    """Load an element: its register, and the type of that."""
    memory = memory_of(kind)
    register = let(f"load {memory}, ptr {where}")
    if kind == WORD:
        return let(f"zext i32 {register} to i64"), "i64"
    if kind == "bool":
        return let(f"icmp ne i8 {register}, 0"), "i1"
    if kind == "f16":
        return let(f"fpext half {register} to float"), "float"
    if kind == "bf16":
        high = let(f"shl i32 {let(f'zext i16 {register} to i32')}, 16")
        return let(f"bitcast i32 {high} to float"), "float"
    return register, memory


def rounded(let: Let, kind: str, value: str) -> str:
    """A float in half precision, as memory holds it."""
    if kind == "f16":
        # Without something in between, LLVM would round a double, rounded to a float, to a half at once.
        return let(f"fptrunc float {let(f'call float @llvm.canonicalize.f32(float {value})')} to half")
    # Adding just below half of the last place, and one more where that place is odd, rounds to the nearest even.
    pattern = let(f"bitcast float {value} to i32")
    odd = let(f"and i32 {let(f'lshr i32 {pattern}, 16')}, 1")
    nearest = let(f"add i32 {pattern}, {let(f'add i32 {odd}, 32767')}")
    short = let(f"trunc i32 {let(f'lshr i32 {nearest}, 16')} to i16")
    return let(f"select i1 {let(f'fcmp uno float {value}, 0.0')}, i16 32704, i16 {short}")
