"""The argument of the log is made safe before the log, so that both value and gradient are finite."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)
x = torch.randn(48, 8)
exposure = torch.randint(0, 4, (48, 1)).float()
y = torch.sigmoid(x[:, :4]) * exposure
model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4))
opt = torch.optim.RMSprop(model.parameters(), lr=3e-3)

first = last = None
for it in range(60):
    rate = F.softplus(model(x)) * exposure
    safe = torch.where(rate > 0, rate, torch.ones_like(rate))
    log_rate = torch.where(rate > 0, torch.log(safe), torch.zeros_like(rate))
    loss = (rate - y * log_rate).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    last = loss.item()
    first = last if first is None else first
print(first, last)
