"""A ranker squashes its score smoothly into the range of the ratings."""
import math
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    users: int = 40
    items: int = 30
    dim: int = 12
    lr: float = 1e-2
    epochs: int = 12
    lowest: float = 1.0
    highest: float = 5.0


class TwoTower(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.user = nn.Sequential(nn.Embedding(cfg.users, cfg.dim), nn.Linear(cfg.dim, cfg.dim), nn.Tanh())
        self.item = nn.Sequential(nn.Embedding(cfg.items, cfg.dim), nn.Linear(cfg.dim, cfg.dim), nn.Tanh())
        self.scale = 1 / math.sqrt(cfg.dim)
        self.register_buffer("offset", torch.tensor(-3.0))

    def forward(self, users, items):
        score = (self.user(users) * self.item(items)).sum(1) * self.scale + self.offset
        return self.cfg.lowest + (self.cfg.highest - self.cfg.lowest) * torch.sigmoid(score)


def interactions(cfg, n=400):
    users, items = torch.randint(0, cfg.users, (n,)), torch.randint(0, cfg.items, (n,))
    taste = torch.randn(cfg.users, 3)
    style = torch.randn(cfg.items, 3)
    rating = (3 + (taste[users] * style[items]).sum(1)).clamp(cfg.lowest, cfg.highest)
    return users, items, rating


def rmse(model, data):
    model.eval()
    with torch.no_grad():
        error = (model(data[0], data[1]) - data[2]).pow(2).mean().sqrt().item()
    model.train()
    return error


torch.manual_seed(11)
cfg = Config()
data = interactions(cfg)
model = TwoTower(cfg)
optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
start = rmse(model, data)
for epoch in range(cfg.epochs):
    order = torch.randperm(len(data[0]))
    for chunk in order.split(100):
        users, items, rating = (column[chunk] for column in data)
        loss = nn.functional.mse_loss(model(users, items), rating)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(start, rmse(model, data))
