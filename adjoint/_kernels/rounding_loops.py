"""Sums of float32 rounded to bfloat16, and kept as float32: what Muon's iterations compute with."""

from __future__ import annotations

from .loops import Floats, Words, bits, loop, narrow


@loop
def rounded_sum(out: Words, x: Floats, y: Floats | None, a: float, b: float, elements: range) -> None:
    """`a * x + b * y`, or `x` if that is all there is. The number nearest to it whose lower half of bits is zero, in doubt the even one."""
    for i in elements:
        value = x[i]
        if y is not None:
            value = narrow(a) * x[i] + narrow(b) * y[i]
        pattern = bits(value)
        out[i] = (pattern + 32767 + pattern // 65536 % 2) // 65536 * 65536
