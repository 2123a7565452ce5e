"""mlp-mixer-pytorch: an image classifier of perceptrons only."""

from typing import Any

import torch
from mlp_mixer_pytorch import MLPMixer


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = MLPMixer(image_size=(32, 16), channels=3, patch_size=8, dim=32, depth=3, num_classes=10)
    image = torch.randn(2, 3, 32, 16, requires_grad=True)
    scores = model(image)
    scores.square().sum().backward()
    return {"scores": scores, "image": image.grad}
