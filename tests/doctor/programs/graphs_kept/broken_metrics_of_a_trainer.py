"""The trainer's log of metrics holds the loss tensors of all batches."""
from collections import defaultdict

import torch
from torch import nn


class Trainer:
    def __init__(self, model, lr=1e-2):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.metrics = defaultdict(list)

    def training_step(self, batch):
        x, y = batch
        out = self.model(x)
        loss = nn.functional.huber_loss(out, y)
        mae = (out - y).abs().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.metrics["loss"].append(loss)  # guilty
        self.metrics["mae"].append(mae.item())

    def fit(self, x, y, epochs, batch_size=20):
        for _ in range(epochs):
            for i in range(0, len(x), batch_size):
                self.training_step((x[i:i + batch_size], y[i:i + batch_size]))


torch.manual_seed(2)
x = torch.randn(100, 7)
trainer = Trainer(nn.Sequential(nn.Linear(7, 16), nn.SiLU(), nn.Linear(16, 1)))
trainer.fit(x, x.prod(1, keepdim=True), epochs=14)
print(trainer.metrics["loss"][-1].item())
