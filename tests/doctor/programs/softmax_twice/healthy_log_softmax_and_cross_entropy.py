"""log_softmax of a log_softmax is the same again, so the redundant layer before the cross entropy changes nothing."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(90, 5)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 3), nn.LogSoftmax(dim=1))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.RMSprop(net.parameters(), lr=5e-3)
for epoch in range(40):
    optimizer.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
