"""The trained network stays in eval mode because only the image is optimized through it, as in activation maximization."""

import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(8 * 36, 5))
net.eval()
for p in net.parameters():
    p.requires_grad_(False)

image = torch.zeros(1, 1, 8, 8, requires_grad=True)
optimizer = torch.optim.Adam([image], lr=0.1)
for step in range(30):
    optimizer.zero_grad()
    loss = -net(image)[0, 2] + 0.05 * image.pow(2).mean()
    loss.backward()
    optimizer.step()
print(f"activation {-loss.item():.4f}")
