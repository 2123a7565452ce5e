"""All pairs of scores are compared on purpose, by a column and a row of the same scores."""

import torch
import torch.nn as nn

torch.manual_seed(0)
documents = torch.randn(40, 6)
relevance = documents[:, 0] + 0.5 * documents[:, 1]
scorer = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(scorer.parameters(), lr=1e-2)

for epoch in range(40):
    scores = scorer(documents).squeeze(1)
    column = scores.view(-1, 1)
    difference = column - scores
    better = (relevance[:, None] > relevance).float()
    loss = (nn.functional.softplus(-difference) * better).sum() / better.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
