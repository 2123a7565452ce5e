"""byol-pytorch: learning without labels from two views of an image, and the moving average of the encoder."""

from typing import Any

import torch
from byol_pytorch import BYOL
from torch import nn


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 16))
    same = nn.Identity()
    learner = BYOL(
        encoder, image_size=16, hidden_layer=-1, projection_size=12, projection_hidden_size=24, augment_fn=same, augment_fn2=same
    )
    optimizer = torch.optim.Adam(learner.parameters(), lr=3e-4)
    images = torch.randn(6, 3, 16, 16)
    losses = []
    for _ in range(3):
        loss = learner(images)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        learner.update_moving_average()
        losses.append(loss.item())
    return {"losses": losses, "weight": encoder[0].weight}
