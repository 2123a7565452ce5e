"""The gate chooses an expert by argmax alone, which has no derivative, so the gate is never trained."""

import torch
import torch.nn as nn


class Mixture(nn.Module):
    def __init__(self, features=6, experts=3):
        super().__init__()
        self.gate = nn.Linear(features, experts)
        self.experts = nn.ModuleList(nn.Linear(features, 1) for _ in range(experts))

    def forward(self, x):
        choice = self.gate(x).softmax(dim=-1).argmax(dim=-1)  # guilty
        outputs = torch.stack([expert(x) for expert in self.experts], dim=1)
        return outputs[torch.arange(len(x)), choice]


torch.manual_seed(0)
x = torch.randn(150, 6)
y = torch.where(x[:, :1] > 0, x[:, 1:2] * 3, -x[:, 2:3])
model = Mixture()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(50):
    loss = ((model(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
