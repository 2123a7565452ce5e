"""The model is set to eval mode after its construction, for a look at its output, and then trained like that."""

import torch
import torch.nn as nn


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(24, 2)
        )

    def forward(self, x):
        return self.layers(x)


def sanity_check(model):
    model.eval()  # guilty
    with torch.no_grad():
        assert model(torch.zeros(1, 1, 8, 8)).shape == (1, 2)
    return model


torch.manual_seed(0)
model = sanity_check(CNN())
images = torch.randn(40, 1, 8, 8) * 3 + 5
labels = (images[:, 0, :, :4].mean((1, 2)) > 5).long()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for epoch in range(20):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()  # guilty
    optimizer.step()
print(f"loss {loss.item():.4f}")
