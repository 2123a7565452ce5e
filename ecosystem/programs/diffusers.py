"""diffusers: a small UNet trained to denoise, images sampled with several schedulers, and a small autoencoder."""

import tempfile
from typing import Any

import torch
from diffusers import (
    AutoencoderKL,
    DDIMScheduler,
    DDPMPipeline,
    DDPMScheduler,
    DPMSolverMultistepScheduler,
    EulerDiscreteScheduler,
    UNet2DConditionModel,
    UNet2DModel,
)
from diffusers.optimization import get_cosine_schedule_with_warmup


def main() -> dict[str, Any]:
    results: dict[str, Any] = {}
    torch.manual_seed(0)
    unet = UNet2DModel(
        sample_size=16,
        in_channels=3,
        out_channels=3,
        layers_per_block=1,
        block_out_channels=(16, 32),
        norm_num_groups=8,
        attention_head_dim=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )
    scheduler = DDPMScheduler(num_train_timesteps=100)
    optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-3)
    schedule = get_cosine_schedule_with_warmup(optimizer, 1, 4)
    clean = torch.rand(2, 3, 16, 16) * 2 - 1
    losses = []
    for _ in range(3):
        noise = torch.randn_like(clean)
        steps = torch.randint(0, 100, (2,))
        predicted = unet(scheduler.add_noise(clean, noise, steps), steps).sample
        loss = torch.nn.functional.mse_loss(predicted, noise)
        loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    results["losses"] = losses

    with tempfile.TemporaryDirectory() as folder:
        unet.save_pretrained(folder)
        unet = UNet2DModel.from_pretrained(folder).eval()
    for kind in (DDPMScheduler, DDIMScheduler, DPMSolverMultistepScheduler, EulerDiscreteScheduler):
        sampler = kind(num_train_timesteps=100)
        sampler.set_timesteps(4)
        torch.manual_seed(1)
        sample = torch.randn(1, 3, 16, 16) * sampler.init_noise_sigma
        for step in sampler.timesteps:
            with torch.no_grad():
                predicted = unet(sampler.scale_model_input(sample, step), step).sample
            sample = sampler.step(predicted, step, sample).prev_sample
        results[kind.__name__] = sample
    pipeline = DDPMPipeline(unet, scheduler)
    pipeline.set_progress_bar_config(disable=True)
    results["pipeline"] = torch.tensor(pipeline(num_inference_steps=3, generator=torch.Generator().manual_seed(2), output_type="np").images)

    torch.manual_seed(0)
    autoencoder = AutoencoderKL(block_out_channels=(16,), latent_channels=2, norm_num_groups=8, sample_size=16)
    posterior = autoencoder.encode(clean).latent_dist
    decoded = autoencoder.decode(posterior.sample()).sample
    (torch.nn.functional.mse_loss(decoded, clean) + 1e-3 * posterior.kl().mean()).backward()
    results["decoded"] = decoded
    results["gradient"] = autoencoder.encoder.conv_in.weight.grad

    torch.manual_seed(0)
    conditional = UNet2DConditionModel(
        sample_size=8,
        block_out_channels=(16, 32),
        layers_per_block=1,
        norm_num_groups=8,
        cross_attention_dim=12,
        attention_head_dim=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )
    results["conditional"] = conditional(torch.randn(1, 4, 8, 8), 7, torch.randn(1, 5, 12)).sample
    return results
