"""The gradients are huge in the first steps, which is what the clip is for, and then it is idle."""
import torch
from torch import nn

torch.manual_seed(2)
x = torch.randn(80, 6)
y = x @ torch.randn(6, 1) * 40 + 100
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.995)
curve = []
for step in range(150):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 20.0)
    optimizer.step()
    scheduler.step()
    curve.append(loss.item())
print(curve[0], curve[-1])
