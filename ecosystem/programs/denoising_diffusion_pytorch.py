"""denoising-diffusion-pytorch: a small UNet trained to predict noise, and images sampled from it; the same in one dimension."""

from typing import Any

import torch
from denoising_diffusion_pytorch import GaussianDiffusion, GaussianDiffusion1D, Unet, Unet1D


def losses_of(diffusion: Any, data: torch.Tensor) -> list[float]:
    optimizer = torch.optim.Adam(diffusion.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        loss = diffusion(data)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    diffusion = GaussianDiffusion(Unet(dim=16, dim_mults=(1, 2), flash_attn=False), image_size=16, timesteps=20, sampling_timesteps=4)
    results: dict[str, Any] = {"losses": losses_of(diffusion, torch.rand(2, 3, 16, 16)), "sampled": diffusion.sample(batch_size=1)}
    torch.manual_seed(0)
    line = GaussianDiffusion1D(Unet1D(dim=16, dim_mults=(1, 2), channels=4), seq_length=16, timesteps=10, objective="pred_v")
    return {**results, "line losses": losses_of(line, torch.rand(2, 4, 16)), "line": line.sample(batch_size=1)}
