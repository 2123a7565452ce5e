"""The trainer's train() method is called once before the epochs, and evaluate() after each of them."""

import adjoint as ad
from adjoint import nn


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = ad.optim.AdamW(model.parameters(), lr=lr)

    def evaluate(self, x, y):
        self.model.eval()  # guilty
        with ad.no_grad():
            return nn.functional.mse_loss(self.model(x), y).item()

    def fit(self, x, y, epochs):
        self.model.train()
        scores = []
        for _ in range(epochs):
            for rows in ad.randperm(len(x)).split(16):
                loss = nn.functional.mse_loss(self.model(x[rows]), y[rows])
                self.optimizer.zero_grad()
                loss.backward()  # guilty
                self.optimizer.step()
            scores.append(self.evaluate(x, y))
        return scores


ad.manual_seed(0)
x = ad.randn(64, 5)
y = ad.sin(x).sum(1, keepdim=True)
block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.2, batch_first=True)
model = nn.Sequential(nn.Linear(5, 8), nn.Unflatten(1, (1, 8)), block, nn.Flatten(), nn.Linear(8, 1))
print(f"{Trainer(model, 3e-3).fit(x, y, 4)[-1]:.4f}")
