"""Adafactor's step for a matrix: what it needs of the squares of the gradient, how large the change would be, and the change itself.

The variance of an element is the product of its row's and its column's mean, so nothing of the size of the matrix is kept in between.
"""

from __future__ import annotations

from typing import Any

from .loops import Doubles, Floats, Out, loop, maximum, narrow, part, sqrt, wide

BAND = 32  # rows of a unit
BLOCK = 512  # numbers that are summed in single precision


@loop(reorder=True)
def factored_means(
    means: Out, columns: Out, sizes: Doubles, param: Floats, grad: Floats, height: int, width: int, bands: range
) -> None:
    """The mean of the squared gradient along each row; for each band the sums along its columns, and of the parameter's squares."""
    for band in bands:
        for j in range(width):
            columns[band * width + j] = 0.0
        size = wide(0.0)
        for i in range(band * BAND, min(band * BAND + BAND, height)):
            total = wide(0.0)
            for block in range(0, width, BLOCK):
                some = 0.0
                own = 0.0
                for j in range(block, min(block + BLOCK, width)):
                    square = grad[i * width + j] * grad[i * width + j]
                    columns[band * width + j] = columns[band * width + j] + square
                    some += square
                    own += param[i * width + j] * param[i * width + j]
                total += wide(some)
                size += wide(own)
            means[i] = narrow(total / width)
        sizes[band] = size


@part
def root(row: float, column: float, least: float) -> Any:
    """The square root of a variance."""
    return sqrt(maximum(row * column, least))


@loop(reorder=True)
def factored_sizes(
    sizes: Doubles, grad: Floats, rows: Floats, columns: Floats, scale: float, least: float, height: int, width: int, bands: range
) -> None:
    """The sum over each band of the squared gradient divided by the variance."""
    for band in bands:
        size = wide(0.0)
        for i in range(band * BAND, min(band * BAND + BAND, height)):
            row = narrow(wide(rows[i]) * scale)
            for block in range(0, width, BLOCK):
                some = 0.0
                for j in range(block, min(block + BLOCK, width)):
                    change = grad[i * width + j] / root(row, columns[j], narrow(least))
                    some += change * change
                size += wide(some)
        sizes[band] = size


@loop(reorder=True)
def factored_step(
    param: Out, grad: Floats, rows: Floats, columns: Floats, scale: float, least: float, decay: float, rate: float, height: int,
    width: int, bands: range,
) -> None:  # fmt: skip
    """The parameter times `decay`, less `rate` times the gradient divided by the root of the variance."""
    for band in bands:
        for i in range(band * BAND, min(band * BAND + BAND, height)):
            row = narrow(wide(rows[i]) * scale)
            for j in range(width):
                change = grad[i * width + j] / root(row, columns[j], narrow(least))
                param[i * width + j] = param[i * width + j] * narrow(decay) - change * narrow(rate)
