"""The gradients themselves are divided by the number of batches before the step."""
import torch
from torch import nn

torch.manual_seed(3)
x = torch.randn(120, 6)
y = x.abs().sum(1, keepdim=True)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
losses = []
for epoch in range(30):
    opt.zero_grad()
    chunks = list(zip(x.chunk(5), y.chunk(5), strict=True))
    for xs, ys in chunks:
        loss = nn.functional.mse_loss(net(xs), ys)
        loss.backward()
    for p in net.parameters():
        p.grad /= len(chunks)
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
