"""NLLLoss was left in place when LogSoftmax was exchanged for Softmax."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model
        self.loss_fn = nn.NLLLoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def run(self, x, y, epochs):
        for _ in range(epochs):
            self.optimizer.zero_grad()
            probabilities = self.model(x)
            loss = self.loss_fn(probabilities, y)  # guilty
            loss.backward()
            self.optimizer.step()
        return loss.item(), (probabilities.argmax(1) == y).float().mean().item()


torch.manual_seed(1)
x = torch.randn(100, 8)
y = x[:, :5].argmax(1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 5), nn.Softmax(dim=-1))
loss, accuracy = Trainer(model).run(x, y, 30)
print(f"loss {loss:.4f} accuracy {accuracy:.2f}")
