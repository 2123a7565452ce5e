"""efficientnet-pytorch: a network by name, its features, and a training step."""

from typing import Any

import torch
from efficientnet_pytorch import EfficientNet


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    model = EfficientNet.from_name("efficientnet-b0", num_classes=10).double()  # norms over few numbers amplify rounding
    images, labels = torch.randn(2, 3, 64, 64, dtype=torch.float64), torch.tensor([1, 8])
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, momentum=0.9, alpha=0.9)
    losses = []
    for _ in range(2):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    gradient = model._conv_stem.weight.grad
    model.eval()
    with torch.no_grad():
        features, logits = model.extract_features(images).mean(1), model(images)
    return {"losses": losses, "gradient": gradient, "features": features, "logits": logits}
