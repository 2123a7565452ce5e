"""The rows are the documents of one query, and ListNet's softmax is over them, for scores and relevances alike."""

import torch
import torch.nn as nn

torch.manual_seed(0)
scorer = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(scorer.parameters(), lr=1e-2)
queries = [torch.randn(12, 6) for _ in range(8)]

for epoch in range(10):
    total = 0.0
    for documents in queries:
        relevance = documents[:, :1] * 2
        log_scores = torch.log_softmax(scorer(documents), dim=0)
        loss = -(torch.softmax(relevance, dim=0) * log_scores).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
print(f"loss {total / len(queries):.4f}")
