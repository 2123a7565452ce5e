"""Spectrograms as layers: Fourier, mel, constant Q, cepstra."""

from typing import Any

import torch
from nnAudio import features


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x = torch.randn(1, 8000, requires_grad=True)
    results: dict[str, Any] = {}
    for layer in (
        features.STFT(n_fft=256, hop_length=128, output_format="Magnitude", verbose=False),
        features.MelSpectrogram(sr=8000, n_fft=256, n_mels=20, verbose=False),
        features.MFCC(sr=8000, n_mfcc=10, n_fft=256, n_mels=20, verbose=False),
        features.CQT1992v2(sr=8000, hop_length=256, fmin=220, n_bins=24, verbose=False),
        features.Gammatonegram(sr=8000, n_fft=256, n_bins=16, verbose=False),
    ):  # fmt: skip
        out = layer(x)
        results[type(layer).__name__], results[type(layer).__name__ + " gradient"] = out, torch.autograd.grad(out.sum(), x)[0]
    return results
