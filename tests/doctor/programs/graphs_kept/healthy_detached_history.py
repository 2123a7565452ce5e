"""The history is made of detached losses, which hold no graph."""
import torch
from torch import nn

torch.manual_seed(1)
x = torch.randn(64, 12)
y = x[:, :1].exp()
net = nn.Sequential(nn.Linear(12, 24), nn.ELU(), nn.Linear(24, 1))
opt = torch.optim.RMSprop(net.parameters(), lr=3e-3)
history, total = [], torch.zeros(())
for step in range(80):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.append(loss.detach())
    total += loss.detach()
print(history[0].item(), history[-1].item(), total.item() / 80)
