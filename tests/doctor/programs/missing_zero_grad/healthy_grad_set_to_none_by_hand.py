"""The trainer never calls zero_grad() but sets every .grad to None itself."""

import torch
from torch import nn, optim


class Trainer:
    def __init__(self, model, lr=1e-2):
        self.model = model
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = optim.RMSprop(model.parameters(), lr=lr)
        self.history = []

    def training_step(self, inputs, targets):
        for parameter in self.model.parameters():
            parameter.grad = None
        logits = self.model(inputs)
        loss = self.criterion(logits, targets)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, inputs, targets, epochs=10, batch_size=20):
        for _ in range(epochs):
            order = torch.randperm(len(inputs))
            for start in range(0, len(inputs), batch_size):
                rows = order[start : start + batch_size]
                self.history.append(self.training_step(inputs[rows], targets[rows]))


torch.manual_seed(3)
features = torch.randn(100, 6)
classes = (features[:, 0] + features[:, 1] > 0).long()
trainer = Trainer(nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2)))
trainer.fit(features, classes)
print(f"{trainer.history[0]:.3f} -> {trainer.history[-1]:.3f}")
