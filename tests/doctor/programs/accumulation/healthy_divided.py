"""Each loss is divided by the number of batches that are added up."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(256, 10)
y = x @ torch.randn(10, 1)
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
accumulation_steps = 4

averages = []
opt.zero_grad()
for epoch in range(5):
    total = 0.0
    for i, (xb, yb) in enumerate(loader):
        loss = nn.functional.mse_loss(model(xb), yb)
        total += loss.item()
        loss = loss / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            opt.step()
            opt.zero_grad()
    averages.append(total / len(loader))
print(averages[0], averages[-1])
