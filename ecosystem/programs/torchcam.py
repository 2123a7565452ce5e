"""torchcam: class activation maps of a small convolutional network."""

from typing import Any

import torch
from torch import nn
from torchcam.methods import CAM, GradCAM, GradCAMpp, LayerCAM, SmoothGradCAMpp


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.pool(self.features(x)).flatten(1))


def main() -> dict[str, Any]:
    results: dict[str, Any] = {}
    for method, options in ((CAM, {"fc_layer": "fc"}), (GradCAM, {}), (GradCAMpp, {}), (LayerCAM, {}), (SmoothGradCAMpp, {})):
        torch.manual_seed(0)
        model = Net().eval()
        x = torch.rand(1, 3, 16, 16)
        with method(model, target_layer="features", input_shape=(3, 16, 16), **options) as extractor:
            scores = model(x)
            results[method.__name__] = extractor(scores.squeeze(0).argmax().item(), scores)[0]
    return results
