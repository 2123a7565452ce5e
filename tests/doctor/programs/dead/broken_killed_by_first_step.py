"""The first step is so long that no ReLU of the network ever gives anything but zero again."""
import torch
from torch import nn

torch.manual_seed(5)
x = torch.rand(80, 12) + 0.5
y = x.mean(1, keepdim=True) * -20
model = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)  # guilty
loss_fn = nn.MSELoss()
for i in range(30):
    loss = loss_fn(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
