"""Weights of a standard deviation of 0.01 in a deep tanh network: signal and gradient die out layer by layer."""
import torch
from torch import nn


class DeepNet(nn.Module):
    def __init__(self, depth=8, dim=20):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.head = nn.Linear(dim, 3)
        for layer in self.layers:
            nn.init.normal_(layer.weight, std=0.01)  # guilty
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.head(x)


torch.manual_seed(1)
x = torch.randn(90, 20)
y = x[:, :3].argmax(1)
model = DeepNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(15):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item(), model.layers[0].weight.grad.abs().max().item())
