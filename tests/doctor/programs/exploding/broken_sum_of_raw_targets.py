"""Prices in the hundred thousands and a summed loss make gradients of millions, which the clip then sets to one, step after step."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
rooms = torch.randn(256, 5)
price = 300_000 + 50_000 * rooms.sum(1, keepdim=True)
loader = DataLoader(TensorDataset(rooms, price), batch_size=16, shuffle=True)

model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
criterion = nn.MSELoss(reduction="sum")  # guilty
for epoch in range(8):
    for xb, yb in loader:
        opt.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # guilty
        opt.step()
print(loss.item(), norm.item())
