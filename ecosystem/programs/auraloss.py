"""Losses for audio, in the time and in the frequency domain."""

from typing import Any

import auraloss
import torch


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x, y = torch.randn(2, 1, 4096, requires_grad=True), torch.randn(2, 1, 4096)
    results: dict[str, Any] = {}
    for loss in (
        auraloss.time.ESRLoss(), auraloss.time.SISDRLoss(), auraloss.time.LogCoshLoss(), auraloss.time.SNRLoss(), auraloss.time.DCLoss(),
        auraloss.freq.STFTLoss(), auraloss.freq.MultiResolutionSTFTLoss(fft_sizes=[512, 256], hop_sizes=[100, 50], win_lengths=[300, 200]),
    ):  # fmt: skip
        value = loss(x, y)
        results[type(loss).__name__], results[type(loss).__name__ + " gradient"] = value, torch.autograd.grad(value, x)[0]
    return results
