"""Eight sigmoid layers, each after a BatchNorm, which keeps the gradient from dying out."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def block(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, n_out, bias=False), nn.BatchNorm1d(n_out), nn.Sigmoid())


torch.manual_seed(2)
model = nn.Sequential(block(10, 32), *[block(32, 32) for _ in range(7)], nn.Linear(32, 2))
x = torch.randn(192, 10)
y = (x[:, 0] > x[:, 1]).long()
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
history = []
for epoch in range(15):
    total = 0.0
    for xb, yb in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        opt.step()
        total += loss.item()
    history.append(total / len(loader))
print(history[0], history[-1])
