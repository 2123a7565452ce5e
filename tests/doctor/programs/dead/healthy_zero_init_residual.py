"""The last scale of each residual branch starts at zero, so that the block begins as the identity and learns from step two."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, 2 * dim)
        self.fc2 = nn.Linear(2 * dim, dim)
        nn.init.zeros_(self.fc2.weight)
        nn.init.zeros_(self.fc2.bias)

    def forward(self, x):
        return x + self.fc2(torch.relu(self.fc1(self.norm(x))))


torch.manual_seed(0)
x = torch.randn(64, 10)
y = torch.sin(2 * x).sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(10, 16), Block(16), Block(16), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
losses = []
for step in range(60):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
