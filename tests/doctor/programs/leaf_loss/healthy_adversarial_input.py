"""The input is detached and marked as a leaf to have its gradient; the loss itself is a result of the model."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def attack(model, images, labels, epsilon=0.1, steps=2):
    adversarial = images.clone()
    for _ in range(steps):
        adversarial = adversarial.detach().requires_grad_(True)
        loss = F.cross_entropy(model(adversarial), labels)
        (gradient,) = torch.autograd.grad(loss, adversarial)
        adversarial = adversarial + epsilon / steps * gradient.sign()
    return adversarial.detach()


torch.manual_seed(0)
images = torch.randn(40, 12)
labels = (images[:, 0] > 0).long()
net = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(25):
    hard = attack(net, images, labels)
    optimizer.zero_grad()
    loss = F.cross_entropy(net(hard), labels)
    loss.backward()
    optimizer.step()
print(f"robust loss {loss.item():.4f}")
