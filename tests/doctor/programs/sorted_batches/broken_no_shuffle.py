"""The samples are sorted by class and the loader does not shuffle, so that each batch has one class."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
centers = torch.randn(4, 8) * 0.7
x = torch.cat([centers[c] + torch.randn(64, 8) for c in range(4)])
y = torch.arange(4).repeat_interleave(64)
loader = DataLoader(TensorDataset(x, y), batch_size=16)  # guilty
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.SGD(model.parameters(), lr=0.3)
for epoch in range(4):
    for xb, yb in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        opt.step()
print((model(x).argmax(1) == y).float().mean().item())
