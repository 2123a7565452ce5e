"""The replaced classifier is given to the optimizer afterwards, by add_param_group."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SmallCNN(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(3))
        self.classifier = nn.Linear(36, classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


torch.manual_seed(0)
model = SmallCNN(10)
optimizer = torch.optim.SGD(model.features.parameters(), lr=0.01, momentum=0.9)
model.classifier = nn.Linear(36, 3)
optimizer.add_param_group({"params": model.classifier.parameters(), "lr": 0.2})

images = torch.randn(30, 1, 8, 8)
labels = torch.randint(0, 3, (30,))
for epoch in range(30):
    logits = model(images)
    loss = F.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
