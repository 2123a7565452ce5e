"""lightly: losses and heads of self-supervised learning, on made-up views."""

from typing import Any

import torch
from lightly.loss import BarlowTwinsLoss, NegativeCosineSimilarity, NTXentLoss, VICRegLoss
from lightly.models.modules import SimCLRProjectionHead, SimSiamPredictionHead
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Flatten(), nn.Linear(48, 32), nn.ReLU())
    head, predictor = SimCLRProjectionHead(32, 32, 16), SimSiamPredictionHead(16, 8, 16)
    image = torch.randn(10, 3, 4, 4)
    views = [image + 0.1 * torch.randn_like(image) for _ in range(2)]
    z0, z1 = (head(backbone(view)) for view in views)
    losses = {
        "NTXent": NTXentLoss(temperature=0.5)(z0, z1), "cosine": NegativeCosineSimilarity()(predictor(z0), z1.detach()),
        "Barlow": BarlowTwinsLoss()(z0, z1), "VICReg": VICRegLoss()(z0, z1),
    }  # fmt: skip
    torch.stack(list(losses.values())).sum().backward()
    return {**losses, "gradient": backbone[1].weight.grad}
