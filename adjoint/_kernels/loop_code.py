"""The compiled form of a loop. What is on disk is used without looking at the loop's source: to read it takes longer than to load code."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from . import jit

if TYPE_CHECKING:
    from .loops import Loop

PACKAGE = __name__.rpartition(".")[0]


@cache
def identity(loop: Loop) -> str:
    """What tells a loop from all others. The text of this package is in every description (`jit.fingerprint`); that of others is not."""
    known = {"": loop.fn, **{name: part.fn for name, part in sorted(loop.parts.items())}}
    names = " ".join(f"{name}={fn.__module__}.{fn.__qualname__}" for name, fn in known.items())
    if all(fn.__module__.startswith(PACKAGE) for fn in known.values()):
        return f"{names} {loop.__name__} {loop.flags}"
    from .translate import source

    return f"{names} {loop.__name__} {loop.flags} {source(loop)}"


@cache
def parameter_kinds(loop: Loop) -> str:
    """The kinds of the parameters; those that may be None are followed by a question mark, arrays that are written to by a "!"."""

    def find_out() -> str:
        from . import translate

        return translate.parameter_kinds(loop)

    return jit.remembered(f"parameters {identity(loop)}", find_out)


def load(loop: Loop, kind: str, result: str = "") -> int:
    """The address of the code for a kind of elements, and for one of `Results` if it has any."""

    def text() -> str:
        from . import translate

        return translate.Module(loop.fn, kind, loop.flags, loop.parts, result).text

    result = result if "R" in parameter_kinds(loop) else ""
    written = jit.LOOPS if loop.unroll else jit.VECTORS
    return jit.load(f"loop {kind} {result} {identity(loop)}", text, ["work"], written)["work"]
