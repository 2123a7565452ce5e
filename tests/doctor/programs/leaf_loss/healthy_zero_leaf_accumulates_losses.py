"""The sum of the losses begins with a leaf tensor, to which results with a history are added."""

import torch
import torch.nn as nn

torch.manual_seed(0)
features = torch.randn(80, 6)
labels = (features.sum(1) > 0).float()
net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

for epoch in range(30):
    loss = torch.tensor(0.0, requires_grad=True)
    for rows in torch.arange(80).split(20):
        logits = net(features[rows]).squeeze(1)
        loss = loss + nn.functional.binary_cross_entropy_with_logits(logits, labels[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
