"""The gradient of a mean over windows that do not overlap."""

from __future__ import annotations

from .loops import Floats, Out, loop, narrow


@loop
def shared_out(
    out: Out, g: Floats, by: float, size_a: int, size_b: int, size_c: int, count_a: int, count_b: int, count_c: int, kernel_a: int,
    kernel_b: int, kernel_c: int, planes: range,
) -> None:  # fmt: skip
    """Each number divided, and written to all elements of its window; elements after the last window are zeros. There are three dimensions,
    and the windows along each begin with the first element, one after the other."""
    for p in planes:
        for i in range(size_a):
            for j in range(size_b):
                row = ((p * size_a + i) * size_b + j) * size_c
                a = i // kernel_a
                b = j // kernel_b
                done = 0
                if a < count_a and b < count_b:
                    source = ((p * count_a + a) * count_b + b) * count_c
                    done = count_c * kernel_c
                    if kernel_c == 2:  # a loop without a loop in it is vectorised
                        for c in range(count_c):
                            share = g[source + c] / narrow(by)
                            out[row + 2 * c] = share
                            out[row + 2 * c + 1] = share
                    else:
                        for c in range(count_c):
                            share = g[source + c] / narrow(by)
                            for k in range(kernel_c):
                                out[row + c * kernel_c + k] = share
                for k in range(done, size_c):
                    out[row + k] = 0.0
