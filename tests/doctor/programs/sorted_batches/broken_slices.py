"""Batches are slices of a table in which all negative samples come first."""
import torch
from torch import nn

torch.manual_seed(1)
negatives = torch.randn(120, 6) - 0.4
positives = torch.randn(120, 6) + 0.4
x = torch.cat([negatives, positives])
y = torch.cat([torch.zeros(120), torch.ones(120)])


class Trainer:
    def __init__(self, batch_size):
        self.net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-2)
        self.batch_size = batch_size

    def fit(self, x, y, epochs):
        for _ in range(epochs):
            for i in range(0, len(x), self.batch_size):
                xb, yb = x[i:i + self.batch_size], y[i:i + self.batch_size]  # guilty
                loss = nn.functional.binary_cross_entropy_with_logits(self.net(xb).squeeze(1), yb)  # guilty
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()


trainer = Trainer(batch_size=20)
trainer.fit(x, y, epochs=5)
print(((trainer.net(x).squeeze(1) > 0).float() == y).float().mean().item())
