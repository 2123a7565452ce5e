"""pytorch-msssim: structural similarity at one and several scales, as a loss."""

from typing import Any

import torch
from pytorch_msssim import MS_SSIM, SSIM, ms_ssim, ssim


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    x, y = torch.rand(2, 3, 176, 176, requires_grad=True), torch.rand(2, 3, 176, 176)
    loss = 2 - SSIM(data_range=1, channel=3)(x, y) - MS_SSIM(data_range=1, channel=3, win_size=7)(x, y)
    loss.backward()
    values = [ssim(x * 255, y * 255, data_range=255, size_average=False), ms_ssim(x, (x + 0.1 * y), data_range=1, size_average=False)]
    return {"loss": loss, "gradient": x.grad, "values": values, "without negatives": ssim(x, y, data_range=1, nonnegative_ssim=True)}
