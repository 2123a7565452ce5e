"""The predictions under no_grad in train mode are the targets of the next loss, as in the mean teacher."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
labelled, unlabelled = torch.randn(40, 6), torch.randn(160, 6)
labels = labelled[:, :3].argmax(1)

for step in range(40):
    with torch.no_grad():
        target = F.softmax(model(unlabelled + 0.05 * torch.randn(160, 6)), dim=1)
    consistency = F.mse_loss(F.softmax(model(unlabelled), dim=1), target)
    loss = F.cross_entropy(model(labelled), labels) + 0.3 * consistency
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
