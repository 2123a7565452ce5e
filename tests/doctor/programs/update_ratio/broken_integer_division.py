"""The warm-up divides integers, so that the learning rate is zero for the whole run."""
import torch
from torch import nn

torch.manual_seed(2)
x = torch.randn(60, 1, 6, 6)
y = (x.mean(dim=(1, 2, 3)) > 0).long()
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
total_steps = 500
warmup = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: (step + 1) // total_steps)  # guilty
losses = []
for step in range(50):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    warmup.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
