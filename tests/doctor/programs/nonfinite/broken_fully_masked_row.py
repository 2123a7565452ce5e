"""A sequence of padding only has a row of minus infinities, whose softmax is NaN."""
import math

import torch
from torch import nn


class Pooling(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(dim, 1)
        self.out = nn.Linear(dim, 2)

    def forward(self, tokens, lengths):
        scores = self.score(torch.tanh(tokens)).squeeze(-1)
        padding = torch.arange(tokens.shape[1])[None, :] >= lengths[:, None]
        scores = scores.masked_fill(padding, -math.inf)
        weights = torch.softmax(scores, dim=1)  # guilty
        return self.out((weights[..., None] * tokens).sum(1))


torch.manual_seed(5)
tokens = torch.randn(30, 7, 12)
lengths = torch.randint(1, 8, (30,))
lengths[11] = 0
labels = torch.randint(0, 2, (30,))
model = Pooling(12)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    optimizer.zero_grad()
    loss = criterion(model(tokens, lengths), labels)
    loss.backward()
    optimizer.step()
print(loss.item())
