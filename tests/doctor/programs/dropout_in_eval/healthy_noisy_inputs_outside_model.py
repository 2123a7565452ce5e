"""The dropout of a denoising autoencoder corrupts the data, outside of any module, for the training pass only."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
data = torch.randn(100, 2) @ torch.randn(2, 10)
model = nn.Sequential(nn.Linear(10, 6), nn.Tanh(), nn.Linear(6, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(60):
    model.train()
    corrupted = F.dropout(data, 0.2)
    loss = F.mse_loss(model(corrupted), data)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        clean = F.mse_loss(model(data), data)
print(f"noisy {loss.item():.4f} clean {clean.item():.4f}")
