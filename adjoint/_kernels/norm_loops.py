"""Normalization: rows, groups of channels, and channels over a whole batch. The variance is summed around the mean, not around zero.

The forward kernels keep the mean of what they normalize, and the factor that brings its variance to 1; the backward kernels take them from
there, and make the gradients of weight and bias on the way.
"""

from __future__ import annotations

from typing import Any

from .loops import FLOATS, HALVES, Doubles, Floats, Out, Results, loop, narrow, part, room, sqrt, wide, wide_room
from .sums import BLOCK, moment, spread, summed

ROWS = 64  # rows that are added up in one place
COLUMNS = 512  # channels that are worked on together at most, where they lie side by side


# ---- rows: layer norm, and (not `centred`) rms norm -----------------------------------------------------------------------------------


@loop(reorder=True, kinds=(*FLOATS, *HALVES))
def norm_rows(
    out: Out, stats: Results, x: Floats, weight: Floats | None, bias: Floats | None, eps: float, centred: int, size: int, rows: range
) -> None:
    for i in rows:
        start = i * size
        mean = 0.0
        if centred:
            mean = narrow(summed(x, start, start + size) / size)
        factor = narrow(1.0 / sqrt(spread(x, start, start + size, mean) / size + eps))
        stats[2 * i] = mean
        stats[2 * i + 1] = factor
        if weight is None:
            for j in range(size):
                out[start + j] = (x[start + j] - mean) * factor
        elif bias is None:
            for j in range(size):
                out[start + j] = (x[start + j] - mean) * factor * weight[j]
        else:
            for j in range(size):
                out[start + j] = (x[start + j] - mean) * factor * weight[j] + bias[j]


@loop(reorder=True, kinds=(*FLOATS, *HALVES))
def norm_rows_back(
    grad: Out, weight_parts: Results | None, bias_parts: Results | None, g: Floats, x: Floats, weight: Floats, stats: Results,
    centred: int, size: int, count: int, blocks: range,
) -> None:  # fmt: skip
    """A unit is a block of rows, with its own part of the sums for weight and bias."""
    for b in blocks:
        place = b * size
        if weight_parts is not None and bias_parts is not None:
            for j in range(size):
                weight_parts[place + j] = 0.0
                bias_parts[place + j] = 0.0
        for i in range(b * ROWS, min(b * ROWS + ROWS, count)):
            start = i * size
            mean, factor = stats[2 * i], stats[2 * i + 1]
            total, along = wide(0.0), wide(0.0)
            for block in range(0, size, BLOCK):
                some, other = 0.0, 0.0
                for j in range(block, min(block + BLOCK, size)):
                    scaled = g[start + j] * weight[j]
                    some += scaled
                    other += scaled * (x[start + j] - mean)
                total += wide(some)
                along += wide(other)
            shift = narrow(total / size) if centred else 0.0
            slope = narrow(along / size) * factor * factor
            if weight_parts is not None and bias_parts is not None:
                for j in range(size):
                    distance = x[start + j] - mean
                    grad[start + j] = (g[start + j] * weight[j] - shift - distance * slope) * factor
                    weight_parts[place + j] += g[start + j] * (distance * factor)
                    bias_parts[place + j] += g[start + j]
            else:
                for j in range(size):
                    grad[start + j] = (g[start + j] * weight[j] - shift - (x[start + j] - mean) * slope) * factor


# ---- groups of channels: group norm and instance norm -----------------------------------------------------------------------------------


@loop(reorder=True)
def norm_groups(
    out: Out, stats: Out, x: Floats, weight: Floats, bias: Floats, eps: float, groups: int, channels: int, plane: int, units: range
) -> None:
    """A unit is one group of one sample: `channels` of them, each with a plane of numbers."""
    for i in units:
        start, size = i * channels * plane, channels * plane
        mean = narrow(summed(x, start, start + size) / size)
        factor = narrow(1.0 / sqrt(spread(x, start, start + size, mean) / size + eps))
        stats[2 * i] = mean
        stats[2 * i + 1] = factor
        first = i % groups * channels
        for c in range(channels):
            scale, shift = factor * weight[first + c], bias[first + c]
            for j in range(start + c * plane, start + c * plane + plane):
                out[j] = (x[j] - mean) * scale + shift


@loop(reorder=True)
def norm_groups_back(
    grad: Out, weight_parts: Out, bias_parts: Out, g: Floats, x: Floats, weight: Floats, stats: Floats,
    groups: int, channels: int, plane: int, units: range,
) -> None:  # fmt: skip
    """The sums for weight and bias have a part for each channel of each sample."""
    for i in units:
        start, size = i * channels * plane, channels * plane
        mean, factor = stats[2 * i], stats[2 * i + 1]
        first = i % groups * channels
        total, along = wide(0.0), wide(0.0)
        for c in range(channels):
            begin = start + c * plane
            own = summed(g, begin, begin + plane)
            own_along = moment(g, x, begin, begin + plane, mean)
            weight_parts[i * channels + c] = narrow(own_along) * factor
            bias_parts[i * channels + c] = narrow(own)
            total += own * wide(weight[first + c])
            along += own_along * wide(weight[first + c])
        shift = narrow(total / size) * factor
        slope = narrow(along / size) * factor * factor * factor
        for c in range(channels):
            scale = factor * weight[first + c]
            for j in range(start + c * plane, start + c * plane + plane):
                grad[j] = g[j] * scale - shift - (x[j] - mean) * slope


# ---- channels: batch norm -----------------------------------------------------------------------------------------------------------
#
# If statistics are `given`, `means` and `variances` are read. The backward kernels take factors, or if statistics are given, variances.


@part
def factor_of(variance: Any, eps: Any) -> Any:
    return narrow(1.0 / sqrt(variance + eps))


@part
def scaled(weight: Floats, channel: int, factor: Any) -> Any:
    result = factor
    if weight is not None:
        result = factor * weight[channel]
    return result


@loop(reorder=True)
def norm_channels(
    out: Out, means: Out, variances: Out, factors: Out, x: Floats, weight: Floats | None, bias: Floats | None, eps: float, given: int,
    samples: int, channels: int, plane: int, units: range,
) -> None:  # fmt: skip
    """A unit is a channel."""
    for c in units:
        if not given:
            total = wide(0.0)
            for n in range(samples):
                start = (n * channels + c) * plane
                total += summed(x, start, start + plane)
            middle = narrow(total / (samples * plane))
            total = wide(0.0)
            for n in range(samples):
                start = (n * channels + c) * plane
                total += spread(x, start, start + plane, middle)
            means[c] = middle
            variances[c] = narrow(total / (samples * plane))
            factors[c] = factor_of(total / (samples * plane), eps)
        else:
            factors[c] = factor_of(wide(variances[c]), eps)
        mean, scale, shift = means[c], scaled(weight, c, factors[c]), 0.0
        if bias is not None:
            shift = bias[c]
        for n in range(samples):
            start = (n * channels + c) * plane
            for j in range(start, start + plane):
                out[j] = (x[j] - mean) * scale + shift


@loop(reorder=True)
def norm_channels_back(
    grad: Out, weight_grad: Out, bias_grad: Out, g: Floats, x: Floats, weight: Floats | None, means: Floats, factors: Floats, eps: float,
    given: int, samples: int, channels: int, plane: int, units: range,
) -> None:  # fmt: skip
    for c in units:
        mean, factor = means[c], factors[c]
        if given:
            factor = factor_of(wide(factor), eps)
        total, along = wide(0.0), wide(0.0)
        for n in range(samples):
            start = (n * channels + c) * plane
            total += summed(g, start, start + plane)
            along += moment(g, x, start, start + plane, mean)
        weight_grad[c] = narrow(along) * factor
        bias_grad[c] = narrow(total)
        scale = scaled(weight, c, factor)
        if given:
            for n in range(samples):
                start = (n * channels + c) * plane
                for j in range(start, start + plane):
                    grad[j] = g[j] * scale
        else:
            shift = narrow(total / (samples * plane))
            slope = narrow(along / (samples * plane)) * factor * factor
            for n in range(samples):
                start = (n * channels + c) * plane
                for j in range(start, start + plane):
                    grad[j] = (g[j] - shift - (x[j] - mean) * slope) * scale


@part
def add_up(totals: Doubles, sums: Out, count: int) -> Any:
    """Add sums to totals, and begin new ones."""
    for c in range(count):
        totals[c] += wide(sums[c])
        sums[c] = 0.0
    return count


@part
def clear(totals: Doubles, sums: Out, count: int) -> Any:
    for c in range(count):
        totals[c] = 0.0
        sums[c] = 0.0
    return count


@loop(reorder=True)
def norm_columns(
    out: Out, means: Out, variances: Out, factors: Out, x: Floats, weight: Floats | None, bias: Floats | None, eps: float, given: int,
    samples: int, channels: int, width: int, blocks: range,
) -> None:  # fmt: skip
    """The same where each sample has one number in each channel. A unit is a block of channels."""
    totals = wide_room(COLUMNS)
    sums = room(COLUMNS)
    middles = room(COLUMNS)
    scales = room(COLUMNS)
    shifts = room(COLUMNS)
    for b in blocks:
        first = b * width
        count = min(width, channels - first)
        if not given:
            _ = clear(totals, sums, count)
            for batch in range(0, samples, ROWS):
                for n in range(batch, min(batch + ROWS, samples)):
                    for c in range(count):
                        sums[c] += x[n * channels + first + c]
                _ = add_up(totals, sums, count)
            for c in range(count):
                means[first + c] = narrow(totals[c] / samples)
                middles[c] = means[first + c]
            _ = clear(totals, sums, count)
            for batch in range(0, samples, ROWS):
                for n in range(batch, min(batch + ROWS, samples)):
                    for c in range(count):
                        distance = x[n * channels + first + c] - middles[c]
                        sums[c] += distance * distance
                _ = add_up(totals, sums, count)
            for c in range(count):
                variances[first + c] = narrow(totals[c] / samples)
                totals[c] = totals[c] / samples
        else:
            for c in range(count):
                middles[c] = means[first + c]
                totals[c] = wide(variances[first + c])
        for c in range(count):
            factors[first + c] = factor_of(totals[c], eps)
            scales[c] = scaled(weight, first + c, factors[first + c])
            shifts[c] = 0.0
        if bias is not None:
            for c in range(count):
                shifts[c] = bias[first + c]
        for n in range(samples):
            for c in range(count):
                out[n * channels + first + c] = (x[n * channels + first + c] - middles[c]) * scales[c] + shifts[c]


@loop(reorder=True)
def norm_columns_back(
    grad: Out, weight_grad: Out, bias_grad: Out, g: Floats, x: Floats, weight: Floats | None, means: Floats, factors: Floats, eps: float,
    given: int, samples: int, channels: int, width: int, blocks: range,
) -> None:  # fmt: skip
    totals = wide_room(COLUMNS)
    alongs = wide_room(COLUMNS)
    sums = room(COLUMNS)
    moments = room(COLUMNS)
    middles = room(COLUMNS)
    scales = room(COLUMNS)
    for b in blocks:
        first = b * width
        count = min(width, channels - first)
        _ = clear(totals, sums, count)
        _ = clear(alongs, moments, count)
        for c in range(count):
            middles[c] = means[first + c]
        for batch in range(0, samples, ROWS):
            for n in range(batch, min(batch + ROWS, samples)):
                for c in range(count):
                    at = n * channels + first + c
                    sums[c] += g[at]
                    moments[c] += g[at] * (x[at] - middles[c])
            _ = add_up(totals, sums, count)
            _ = add_up(alongs, moments, count)
        for c in range(count):
            factor = factors[first + c]
            if given:
                factor = factor_of(wide(factor), eps)
            weight_grad[first + c] = narrow(alongs[c]) * factor
            bias_grad[first + c] = narrow(totals[c])
            scales[c] = scaled(weight, first + c, factor)
            sums[c] = narrow(totals[c] / samples)
            moments[c] = narrow(alongs[c] / samples) * factor * factor
        if given:
            for n in range(samples):
                for c in range(count):
                    grad[n * channels + first + c] = g[n * channels + first + c] * scales[c]
        else:
            for n in range(samples):
                for c in range(count):
                    at = n * channels + first + c
                    grad[at] = (g[at] - sums[c] - (x[at] - middles[c]) * moments[c]) * scales[c]


@loop
def move_statistics(
    mean: Floats, variance: Floats, new_mean: Floats, new_variance: Floats, momentum: float, unbiased: float, channels: range
) -> None:
    """Let running statistics follow new ones; `unbiased` is what the variance of a batch is multiplied by."""
    step = narrow(momentum)
    rest = narrow(1.0 - momentum)
    for c in channels:
        mean[c] = mean[c] * rest + new_mean[c] * step
        variance[c] = variance[c] * rest + new_variance[c] * narrow(unbiased) * step
