"""The probabilities are computed for the printed confidence only; the loss has the logits."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.randn(120, 6)
Y = X[:, :4].argmax(dim=1)
loader = DataLoader(TensorDataset(X, Y), batch_size=30, shuffle=True)

model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    for xb, yb in loader:
        optimizer.zero_grad()
        logits = model(xb)
        confidence = logits.softmax(dim=1).max(dim=1).values.mean()
        loss = criterion(logits, yb)
        loss.backward()
        optimizer.step()
print(f"loss {loss.item():.4f} confidence {confidence.item():.3f}")
