"""Gradients of four small batches are added up on purpose, scaled, and cleared after each step."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(4 * 6 * 6, 3)

    def forward(self, x):
        x = F.relu(self.conv(x))
        return self.fc(x.flatten(1))


torch.manual_seed(1)
images = torch.randn(96, 1, 8, 8)
labels = images.mean(dim=(1, 2, 3)).mul(20).round().clamp(-1, 1).long() + 1
loader = DataLoader(TensorDataset(images, labels), batch_size=8, shuffle=True)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.2)
accumulation_steps = 4

net.zero_grad()
for epoch in range(8):
    for i, (inputs, targets) in enumerate(loader):
        loss = F.cross_entropy(net(inputs), targets) / accumulation_steps
        loss.backward()
        if (i + 1) % accumulation_steps == 0:
            opt.step()
            opt.zero_grad()
print(f"train loss {loss.item() * accumulation_steps:.4f}")
