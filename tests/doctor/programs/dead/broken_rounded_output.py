"""Rounding the output to stars has a slope of zero everywhere."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)
reviews = torch.randn(128, 16)
stars = torch.clamp((reviews[:, :3].sum(1) + 3).round(), 1, 5)

net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)


def train(epochs):
    for _ in range(epochs):
        prediction = torch.round(net(reviews).squeeze(1))  # guilty
        loss = F.mse_loss(prediction, stars)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


print(train(25))
