"""What code is made for: the one door to everything that depends on the CPU.

Code is made for a level of CPUs, not for the model at hand: a cache that was filled on one machine serves every other of its level. The
levels of x86 are those that compilers and Linux distributions have agreed on; all CPUs of 64-bit ARM are one level. `ADJOINT_CPU` names
another one than the highest that is possible here: a level, or a CPU whose level is meant.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Target:
    """A level, and what kernels have to know of it."""

    name: str  # as LLVM calls it
    float_lanes: int  # float32 numbers in a vector register
    vector_registers: int
    fma: bool  # whether the CPU multiplies and adds in one step
    pause: tuple[str, str] = ("", "")  # declaration and call of the instruction that says: this loop waits
    features: str = ""  # beyond what the name implies


X86_PAUSE = "declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"
ARM_PAUSE = "declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"

LEVELS = {
    level.name: level
    for level in (
        Target("x86-64-v2", 4, 16, False, X86_PAUSE),
        Target("x86-64-v3", 8, 16, True, X86_PAUSE),
        # LLVM would use half of a register for the sake of CPUs before 2019, which slow down in wide ones; others lose a third by that.
        Target("x86-64-v4", 16, 32, True, X86_PAUSE, "-prefer-256-bit"),
    )
}
ARM = Target("generic", 4, 32, True, ARM_PAUSE)

# What NumPy calls a level, and what tells that a CPU has it, for a NumPy that does not know levels (before 2.4).
SIGNS = {
    "x86-64-v2": ("X86_V2", ("SSE3", "SSSE3", "SSE41", "SSE42", "POPCNT")),
    "x86-64-v3": ("X86_V3", ("AVX", "AVX2", "FMA3", "F16C")),
    "x86-64-v4": ("X86_V4", ("AVX512F", "AVX512CD", "AVX512_SKX")),
}

MODELS = {
    "x86-64-v2": "nehalem westmere sandybridge ivybridge silvermont goldmont tremont bdver1 bdver2 btver2",
    "x86-64-v3": "haswell broadwell skylake alderlake raptorlake meteorlake arrowlake sierraforest bdver4 znver1 znver2 znver3",
    "x86-64-v4": "skylake-avx512 cascadelake cooperlake icelake-client icelake-server tigerlake rocketlake sapphirerapids emeraldrapids "
    "graniterapids znver4 znver5",
}


def architecture() -> str:
    import platform

    name = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


def host_levels() -> list[str]:
    """The levels of x86 that this CPU has, the lowest first. Found without LLVM, which takes longer to import than to answer."""
    try:
        from numpy._core._multiarray_umath import __cpu_features__ as found  # type: ignore[import-not-found]
    except ImportError:  # this name is NumPy's own affair
        names = {"FMA3": "fma", "SSE41": "sse4.1", "SSE42": "sse4.2", "AVX512_SKX": "avx512vl"}
        features = host().get_host_cpu_features()
        found = {sign: features.get(names.get(sign, sign.lower()), False) for _, signs in SIGNS.values() for sign in signs}
    had = []
    for level, (group, signs) in SIGNS.items():
        if not found.get(group, all(found.get(sign, False) for sign in signs)):
            break
        had.append(level)
    return had


def host() -> Any:
    from llvmlite import binding

    return binding


@cache
def current() -> Target:
    """What `ADJOINT_CPU` asks for, or else the highest level of this CPU. LookupError where no level is known, which LLVM may not even
    have code for: NumPy serves there."""
    asked = os.environ.get("ADJOINT_CPU", "") or "native"
    possible = {"aarch64": ["generic"], "x86_64": host_levels()}.get(architecture(), []) if sys.maxsize > 2**32 else []
    if asked == "native":
        if not possible:
            raise LookupError(f"no kernels are made for this CPU ({architecture()})")
        return LEVELS.get(possible[-1], ARM)
    level = named(asked.lower())
    if level not in possible:
        why = f"this CPU has no {level}" if level else "there is no such level, nor a CPU of that name"
        raise ValueError(f"ADJOINT_CPU={asked}: {why}; possible here: {', '.join([*possible, 'native'])}")
    return LEVELS.get(level, ARM)


def named(name: str) -> str:
    """The level that a name means, which may be short, or a CPU's; "" if it means none."""
    if name in ("v2", "v3", "v4"):
        return f"x86-64-{name}"
    if name in LEVELS or name == ARM.name:
        return name
    return next((level for level, models in MODELS.items() if name in models.split()), "")


def identity() -> str:
    """What code depends on besides its text and its compiler: it runs wherever this is the same. Known without LLVM."""
    return f"{current().name} {current().features} {getattr(sys.implementation, '_multiarch', sys.platform)}"
