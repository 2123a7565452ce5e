"""The backbone has no gradients because requires_grad was taken from it on purpose."""

import torch
import torch.nn as nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
for parameter in backbone.parameters():
    parameter.requires_grad = False
model = nn.Sequential(backbone, nn.Linear(24, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)

images = torch.randn(48, 1, 8, 8)
labels = (images[:, 0, :4].mean(dim=(1, 2)) > 0).long()
for epoch in range(40):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
