"""Wavelet transforms in one, two and three dimensions, with gradients."""

from typing import Any

import ptwt
import pywt
import torch


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    signal = torch.randn(2, 64, dtype=torch.float64, requires_grad=True)
    results: dict[str, Any] = {}
    for name in ("haar", "db4", "sym5"):
        parts = ptwt.wavedec(signal, name, mode="zero", level=2)
        results[name] = list(parts)
        results[name + " back"] = ptwt.waverec(parts, name)[..., :64]
    sum(part.pow(3).sum() for part in ptwt.wavedec(signal, pywt.Wavelet("db2"), level=3)).backward()
    results["gradient"] = signal.grad
    image = torch.randn(1, 16, 16, dtype=torch.float64)
    parts = ptwt.wavedec2(image, "db2", level=2, mode="constant")
    results["image"] = [parts[0], *(list(part) for part in parts[1:])]
    results["image back"] = ptwt.waverec2(parts, "db2")
    volume = ptwt.wavedec3(torch.randn(1, 8, 8, 8, dtype=torch.float64), "haar", level=1)
    results["volume"] = [volume[0], *volume[1].values()]
    results["packets"] = ptwt.WaveletPacket(signal.detach(), "haar", mode="reflect", maxlevel=2)["ad"]
    coefficients, frequencies = ptwt.cwt(signal.detach(), torch.arange(1, 6), "cmor1.5-1.0", sampling_period=0.1)
    results["continuous"], results["frequencies"] = coefficients, frequencies
    return results
