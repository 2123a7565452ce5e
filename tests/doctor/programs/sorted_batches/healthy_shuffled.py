"""The samples are sorted by class, and the loader shuffles them."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
centers = torch.randn(4, 8) * 2
x = torch.cat([centers[c] + torch.randn(64, 8) for c in range(4)])
y = torch.arange(4).repeat_interleave(64)
train_loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
test_loader = DataLoader(TensorDataset(x, y), batch_size=16)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(4):
    for xb, yb in train_loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        opt.step()
losses = []
with torch.no_grad():
    for xb, yb in test_loader:
        losses.append(nn.functional.cross_entropy(model(xb), yb).item())
print(sum(losses) / len(losses))
