"""The F1 score is counted from thresholded predictions and made a tensor with requires_grad=True."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class TabularNet(nn.Module):
    def __init__(self, cardinalities, n_numeric, hidden=24):
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(c, 4) for c in cardinalities)
        self.body = nn.Sequential(nn.Linear(4 * len(cardinalities) + n_numeric, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, categories, numbers):
        embedded = [e(categories[:, i]) for i, e in enumerate(self.embeddings)]
        return torch.sigmoid(self.body(torch.cat([*embedded, numbers], dim=1))).squeeze(1)


def counts(probabilities, targets, threshold=0.5):
    predicted = probabilities > threshold
    actual = targets > 0.5
    tp = (predicted & actual).sum().item()
    fp = (predicted & ~actual).sum().item()
    fn = (~predicted & actual).sum().item()
    return tp, fp, fn


def f1_loss(probabilities, targets):
    tp, fp, fn = counts(probabilities, targets)  # guilty
    f1 = 2 * tp / (2 * tp + fp + fn + 1e-8)
    return torch.tensor(1 - f1, requires_grad=True)  # guilty


torch.manual_seed(5)
categories = torch.randint(0, 6, (180, 2))
numbers = torch.randn(180, 3)
targets = ((categories[:, 0] > 3).float() + numbers[:, 0] > 0.8).float()
loader = DataLoader(TensorDataset(categories, numbers, targets), batch_size=60, shuffle=True)
model = TabularNet([6, 6], 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=3)
for epoch in range(15):
    epoch_loss, totals = 0.0, [0, 0, 0]
    for cats, nums, y in loader:
        probabilities = model(cats, nums)
        loss = f1_loss(probabilities, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() / len(loader)
        totals = [a + b for a, b in zip(totals, counts(probabilities, y), strict=True)]
    scheduler.step(epoch_loss)
print(f"loss {epoch_loss:.4f}, tp {totals[0]} fp {totals[1]} fn {totals[2]}")
