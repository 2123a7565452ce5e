"""A decay of 0.995 per batch is a schedule of its own."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
x = torch.randn(300, 5)
y = torch.tanh(x.sum(1, keepdim=True))
loader = DataLoader(TensorDataset(x, y), batch_size=10, shuffle=True)
model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.995)
averages = []
for epoch in range(4):
    total = 0.0
    for xb, yb in loader:
        loss = nn.functional.mse_loss(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        scheduler.step()
        total += loss.item()
    averages.append(total / len(loader))
print(averages[0], averages[-1])
