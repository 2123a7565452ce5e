"""Each step adds up the gradients of four chunks of a batch, each a mean, so that the step is four times too long."""
import torch
from torch import nn


class Trainer:
    def __init__(self, model, chunks=4):
        self.model, self.chunks = model, chunks
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        self.criterion = nn.CrossEntropyLoss()

    def step(self, x, y):
        self.optimizer.zero_grad()
        total = 0.0
        for xs, ys in zip(x.chunk(self.chunks), y.chunk(self.chunks), strict=True):
            loss = self.criterion(self.model(xs), ys)
            loss.backward()  # guilty
            total += loss.item()
        self.optimizer.step()
        return total / self.chunks


torch.manual_seed(1)
images = torch.randn(64, 1, 6, 6)
labels = (images[:, 0, 0, 0] > 0).long()
trainer = Trainer(nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(128, 2)))
for epoch in range(12):
    last = trainer.step(images, labels)
print(last)
