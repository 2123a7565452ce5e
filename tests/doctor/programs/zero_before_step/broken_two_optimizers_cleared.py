"""Both optimizers are cleared between the backward pass and their steps, in the order of a refactored trainer."""

import torch
import torch.nn as nn


class AutoEncoderTrainer:
    def __init__(self):
        self.encoder = nn.Sequential(nn.Linear(10, 6), nn.Tanh(), nn.Linear(6, 2))
        self.decoder = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 10))
        self.optimizers = [
            torch.optim.Adam(self.encoder.parameters(), lr=3e-3),
            torch.optim.Adam(self.decoder.parameters(), lr=3e-3),
        ]

    def train_step(self, batch):
        loss = nn.functional.mse_loss(self.decoder(self.encoder(batch)), batch)
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.zero_grad()  # guilty
        for optimizer in self.optimizers:
            optimizer.step()
        return loss.item()


torch.manual_seed(0)
data = torch.randn(64, 2) @ torch.randn(2, 10)
trainer = AutoEncoderTrainer()
for _ in range(30):
    last = trainer.train_step(data)
print(f"reconstruction {last:.4f}")
