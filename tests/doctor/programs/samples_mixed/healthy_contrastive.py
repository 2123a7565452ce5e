"""A contrastive loss compares all samples of a batch, and the network has BatchNorm: both mix on purpose."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
data = torch.randn(96, 12)
loader = DataLoader(TensorDataset(data), batch_size=32, shuffle=True)
encoder = nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 8))
opt = torch.optim.Adam(encoder.parameters(), lr=5e-3)
history = []
for epoch in range(10):
    for (x,) in loader:
        a = nn.functional.normalize(encoder(x + 0.1 * torch.randn_like(x)), dim=1)
        b = nn.functional.normalize(encoder(x + 0.1 * torch.randn_like(x)), dim=1)
        logits = a @ b.t() / 0.2
        loss = nn.functional.cross_entropy(logits, torch.arange(len(x)))
        opt.zero_grad()
        loss.backward()
        opt.step()
    history.append(loss.item())
print(history[0], history[-1])
