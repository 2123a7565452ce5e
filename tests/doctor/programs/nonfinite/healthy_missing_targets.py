"""Missing targets are NaN in the table and are left out of the loss by indexing."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
x = torch.randn(120, 5)
y = torch.stack([x.sum(1), x[:, 0] - x[:, 1], x[:, 2] * 2], dim=1)
y[torch.rand(120, 3) < 0.2] = float("nan")
loader = DataLoader(TensorDataset(x, y), batch_size=24, shuffle=True)

model = nn.Sequential(nn.Linear(5, 32), nn.GELU(), nn.Linear(32, 3))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
history = []
for epoch in range(12):
    total = 0.0
    for xb, yb in loader:
        known = ~torch.isnan(yb)
        pred = model(xb)
        loss = ((pred[known] - yb[known]) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    history.append(total / len(loader))
print(history[0], history[-1])
