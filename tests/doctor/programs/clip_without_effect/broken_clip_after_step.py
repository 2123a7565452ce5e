"""The gradients are clipped after the step has used them."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def fit(model, loader, optimizer, clip_value, epochs):
    for _ in range(epochs):
        for features, labels in loader:
            logits = model(features)
            loss = F.cross_entropy(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            nn.utils.clip_grad_value_(model.parameters(), clip_value)  # guilty
    return loss.item()


torch.manual_seed(0)
features = torch.randn(128, 10) * 3
labels = features[:, :3].argmax(dim=1)
loader = DataLoader(TensorDataset(features, labels), batch_size=16, shuffle=True)
mlp = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
sgd = torch.optim.SGD(mlp.parameters(), lr=0.05, momentum=0.9)
print(f"loss {fit(mlp, loader, sgd, 0.1, 4):.4f}")
