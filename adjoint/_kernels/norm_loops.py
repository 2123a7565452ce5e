"""Normalization: rows, groups of channels, and channels over a whole batch. The variance is summed around the mean, not around zero.

The forward kernels keep the mean of what they normalize, and the factor that brings its variance to 1; the backward kernels take them from
there, and make the gradients of weight and bias on the way.
"""

from __future__ import annotations

from .loops import Doubles, Floats, Out, loop, narrow, sqrt, wide
from .sums import BLOCK, moment, spread, summed

ROWS = 64  # rows whose gradients of weight and bias are added up in one place
COLUMNS = 32  # channels that are worked on together, where they lie side by side


# ---- rows: layer norm, and (not `centred`) rms norm -----------------------------------------------------------------------------------


@loop(reorder=True)
def norm_rows(
    out: Out, stats: Out, x: Floats, weight: Floats | None, bias: Floats | None, eps: float, centred: int, size: int, rows: range
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


@loop(reorder=True)
def norm_rows_back(
    grad: Out, weight_parts: Out | None, bias_parts: Out | None, g: Floats, x: Floats, weight: Floats, stats: Floats,
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


@loop(reorder=True)
def norm_channels(
    out: Out, means: Out, variances: Out, factors: Out, x: Floats, weight: Floats, bias: Floats, eps: float, given: int,
    samples: int, channels: int, plane: int, units: range,
) -> None:  # fmt: skip
    """A unit is a channel. Its mean and factor are computed, unless they are `given`."""
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
            factors[c] = narrow(1.0 / sqrt(total / (samples * plane) + eps))
        mean, scale, shift = means[c], factors[c] * weight[c], bias[c]
        for n in range(samples):
            start = (n * channels + c) * plane
            for j in range(start, start + plane):
                out[j] = (x[j] - mean) * scale + shift


@loop(reorder=True)
def norm_channels_back(
    grad: Out, weight_grad: Out, bias_grad: Out, g: Floats, x: Floats, weight: Floats, means: Floats, factors: Floats, given: int,
    samples: int, channels: int, plane: int, units: range,
) -> None:  # fmt: skip
    for c in units:
        mean, factor = means[c], factors[c]
        total, along = wide(0.0), wide(0.0)
        for n in range(samples):
            start = (n * channels + c) * plane
            total += summed(g, start, start + plane)
            along += moment(g, x, start, start + plane, mean)
        weight_grad[c] = narrow(along) * factor
        bias_grad[c] = narrow(total)
        scale = factor * weight[c]
        shift = 0.0 if given else narrow(total / (samples * plane))
        slope = 0.0 if given else narrow(along / (samples * plane)) * factor * factor
        for n in range(samples):
            start = (n * channels + c) * plane
            for j in range(start, start + plane):
                grad[j] = (g[j] - shift - (x[j] - mean) * slope) * scale


@loop(reorder=True)
def norm_columns(
    out: Out, means: Out, variances: Out, factors: Out, sums: Doubles, x: Floats, weight: Floats, bias: Floats, eps: float, given: int,
    samples: int, channels: int, blocks: range,
) -> None:  # fmt: skip
    """The same where each sample has one number in each channel. A unit is a block of channels."""
    for b in blocks:
        first, last = b * COLUMNS, min(b * COLUMNS + COLUMNS, channels)
        if not given:
            for c in range(first, last):
                sums[c] = 0.0
            for n in range(samples):
                for c in range(first, last):
                    sums[c] += wide(x[n * channels + c])
            for c in range(first, last):
                means[c] = narrow(sums[c] / samples)
                sums[c] = 0.0
            for n in range(samples):
                for c in range(first, last):
                    distance = x[n * channels + c] - means[c]
                    sums[c] += wide(distance * distance)
            for c in range(first, last):
                variances[c] = narrow(sums[c] / samples)
                factors[c] = narrow(1.0 / sqrt(sums[c] / samples + eps))
        for n in range(samples):
            for c in range(first, last):
                out[n * channels + c] = (x[n * channels + c] - means[c]) * (factors[c] * weight[c]) + bias[c]


@loop(reorder=True)
def norm_columns_back(
    grad: Out, weight_grad: Out, bias_grad: Out, totals: Doubles, alongs: Doubles, g: Floats, x: Floats, weight: Floats, means: Floats,
    factors: Floats, given: int, samples: int, channels: int, blocks: range,
) -> None:  # fmt: skip
    for b in blocks:
        first, last = b * COLUMNS, min(b * COLUMNS + COLUMNS, channels)
        for c in range(first, last):
            totals[c] = 0.0
            alongs[c] = 0.0
        for n in range(samples):
            for c in range(first, last):
                totals[c] += wide(g[n * channels + c])
                alongs[c] += wide(g[n * channels + c] * (x[n * channels + c] - means[c]))
        for c in range(first, last):
            weight_grad[c] = narrow(alongs[c]) * factors[c]
            bias_grad[c] = narrow(totals[c])
            totals[c] = 0.0 if given else totals[c] / samples
            alongs[c] = 0.0 if given else alongs[c] / samples * wide(factors[c] * factors[c])
        for n in range(samples):
            for c in range(first, last):
                at = n * channels + c
                grad[at] = (g[at] - narrow(totals[c]) - (x[at] - means[c]) * narrow(alongs[c])) * (factors[c] * weight[c])


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
