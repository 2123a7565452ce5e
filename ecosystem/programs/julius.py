"""Resampling, filters and frequency bands of signals."""

from typing import Any

import julius
import torch


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x = torch.randn(2, 1000, requires_grad=True)
    results: dict[str, Any] = {
        "resampled": julius.resample_frac(x, 44, 32), "low": julius.lowpass_filter(x, 0.1), "bank": julius.LowPassFilters([0.1, 0.2])(x),
        "bands": julius.split_bands(x, 1000, n_bands=4), "convolution": julius.fft_conv1d(x[:, None], torch.randn(1, 1, 64)),
        "high": julius.highpass_filter(x, 0.2), "band": julius.bandpass_filter(x, 0.1, 0.3),
    }  # fmt: skip
    sum(value.pow(2).sum() for value in results.values()).backward()
    return results | {"gradient": x.grad}
