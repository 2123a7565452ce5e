"""The samples of Monte-Carlo dropout are to be different in eval mode, and the function says so in its name."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class BayesianMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(1, 32)
        self.norm = nn.BatchNorm1d(32)
        self.out = nn.Linear(32, 1)

    def mc_dropout(self, h):
        return F.dropout(h, 0.1, training=True)

    def forward(self, x):
        return self.out(self.mc_dropout(torch.tanh(self.norm(self.hidden(x)))))


torch.manual_seed(0)
x = torch.linspace(-2, 2, 60).unsqueeze(1)
y = torch.sin(2 * x)
model = BayesianMLP()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(50):
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    samples = torch.stack([model(x) for _ in range(10)])
print(f"loss {loss.item():.4f} uncertainty {samples.std(0).mean().item():.4f}")
