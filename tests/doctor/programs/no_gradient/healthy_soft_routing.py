"""Argmax picks the expert, but the gate is trained because the expert's output is multiplied by its probability."""

import torch
import torch.nn as nn


class Mixture(nn.Module):
    def __init__(self, features=6, experts=3):
        super().__init__()
        self.gate = nn.Linear(features, experts)
        self.experts = nn.ModuleList(nn.Linear(features, 1) for _ in range(experts))

    def forward(self, x):
        weights = self.gate(x).softmax(dim=-1)
        choice = weights.argmax(dim=-1)
        rows = torch.arange(len(x))
        outputs = torch.stack([expert(x) for expert in self.experts], dim=1)
        return outputs[rows, choice] * weights[rows, choice].unsqueeze(1)


torch.manual_seed(0)
x = torch.randn(150, 6)
y = torch.where(x[:, :1] > 0, x[:, 1:2] * 3, -x[:, 2:3])
model = Mixture()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(60):
    loss = ((model(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
