"""The .data writes are the initialization and a projection after the step: no recorded value is changed."""

import torch
from torch import nn


class RateNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
        for module in self.body:
            if isinstance(module, nn.Linear):
                module.weight.data.normal_(0, 0.2)
                module.bias.data.fill_(0.0)

    def forward(self, x):
        return torch.exp(self.body(x)).clamp(max=20.0)


torch.manual_seed(0)
x = torch.randn(120, 5)
counts = torch.poisson(torch.exp(x[:, :1]))
model = RateNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(40):
    rate = model(x)
    loss = (rate - counts * torch.log(rate + 1e-6)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for p in model.parameters():
        p.data.clamp_(-2, 2)
print(f"nll {loss.item():.4f}")
