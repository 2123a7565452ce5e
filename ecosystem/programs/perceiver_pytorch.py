"""perceiver-pytorch: Perceiver on images, and Perceiver IO with queries."""

from typing import Any

import torch
from perceiver_pytorch import Perceiver, PerceiverIO


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = Perceiver(
        input_channels=3,
        input_axis=2,
        num_freq_bands=4,
        max_freq=10.0,
        depth=2,
        num_latents=16,
        latent_dim=32,
        cross_heads=1,
        latent_heads=4,
        cross_dim_head=16,
        latent_dim_head=8,
        num_classes=10,
        weight_tie_layers=True,
        self_per_cross_attn=2,
    )
    scores = model(torch.randn(2, 12, 12, 3))
    scores.square().sum().backward()
    io = PerceiverIO(
        dim=16,
        queries_dim=16,
        logits_dim=12,
        depth=2,
        num_latents=16,
        latent_dim=32,
        cross_heads=1,
        latent_heads=4,
        cross_dim_head=16,
        latent_dim_head=8,
    )
    mask = torch.ones(1, 40, dtype=torch.bool)
    mask[:, 30:] = False
    logits = io(torch.randn(1, 40, 16), queries=torch.randn(20, 16), mask=mask)
    return {"scores": scores, "latents": model.latents.grad, "logits": logits}
