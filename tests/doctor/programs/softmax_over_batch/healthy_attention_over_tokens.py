"""The first dimension of the scores is the tokens of one sentence, over which attention is to be normalized."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SentenceScorer(nn.Module):
    def __init__(self, vocabulary=20, width=8):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.query = nn.Linear(width, 1)
        self.out = nn.Linear(width, 1)

    def forward(self, sentence):
        words = self.embedding(sentence)
        attention = F.softmax(self.query(words), dim=0)
        return self.out((attention * words).sum(dim=0))


torch.manual_seed(0)
sentences = [torch.randint(0, 20, (n,)) for n in (3, 5, 4, 6, 7, 5)]
targets = torch.tensor([[float((s > 9).sum())] for s in sentences])
model = SentenceScorer()
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for epoch in range(20):
    optimizer.zero_grad()
    predictions = torch.stack([model(s) for s in sentences])
    loss = F.mse_loss(predictions, targets)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
