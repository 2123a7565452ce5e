"""The helper that applies the update clears the gradients as its first statement."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class TextClassifier(nn.Module):
    def __init__(self, vocabulary=30, hidden=16, classes=2):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, 8)
        self.lstm = nn.LSTM(8, hidden, batch_first=True)
        self.out = nn.Linear(hidden, classes)

    def forward(self, tokens):
        _, (h, _) = self.lstm(self.embed(tokens))
        return self.out(h[-1])


def update(model, optimizer, max_norm=1.0):
    model.zero_grad()  # guilty
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()


def main():
    torch.manual_seed(0)
    tokens = torch.randint(0, 30, (64, 7))
    labels = (tokens[:, -1] > 14).long()
    loader = DataLoader(TensorDataset(tokens, labels), batch_size=16)
    model = TextClassifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(4):
        for batch, target in loader:
            loss = F.cross_entropy(model(batch), target)
            loss.backward()
            update(model, optimizer)
    print(f"loss {loss.item():.3f}")


main()
