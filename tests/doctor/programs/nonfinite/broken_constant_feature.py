"""A feature that is constant has a standard deviation of zero, so that standardising divides zero by zero."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
features = torch.randn(200, 6) * 3 + 1
features[:, 4] = 1.0
target = features[:, :1] * 2 - features[:, 1:2]

mean, std = features.mean(0), features.std(0)
features = (features - mean) / std  # guilty

loader = DataLoader(TensorDataset(features, target), batch_size=50, shuffle=True)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(5):
    running = 0.0
    for xb, yb in loader:
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(xb), yb)
        loss.backward()
        opt.step()
        running += loss.item()
print(running / len(loader))
