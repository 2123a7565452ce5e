"""The gradient scaler starts too high on purpose: it skips the steps whose gradients overflow and halves its scale."""
import torch
from torch import nn

torch.manual_seed(1)
x = torch.randn(64, 10)
y = x @ torch.randn(10, 1) * 5
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 126)

losses = []
for step in range(40):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    losses.append(loss.item())
print(losses[0], losses[-1], scaler.get_scale())
