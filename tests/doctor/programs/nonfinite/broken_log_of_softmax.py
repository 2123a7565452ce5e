"""The log of a softmax that underflows to zero is minus infinity, and zero times it is NaN."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 20) * 30
y = torch.randint(0, 5, (64,))
one_hot = nn.functional.one_hot(y, 5).float()

net = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 5))
opt = torch.optim.SGD(net.parameters(), lr=0.5)

for step in range(30):
    probs = torch.softmax(net(x) * 10, dim=1)
    loss = -(one_hot * torch.log(probs)).sum(1).mean()  # guilty
    opt.zero_grad()
    loss.backward()
    opt.step()

print(loss.item())
