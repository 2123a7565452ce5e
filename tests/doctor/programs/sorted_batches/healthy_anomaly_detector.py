"""All training samples are of one class on purpose: an autoencoder learns what is normal."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
normal = torch.randn(160, 3) @ torch.randn(3, 12)
labels = torch.zeros(160, dtype=torch.long)
loader = DataLoader(TensorDataset(normal, labels), batch_size=16)
model = nn.Sequential(nn.Linear(12, 6), nn.Tanh(), nn.Linear(6, 12))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
history = []
for epoch in range(6):
    for batch, _ in loader:
        loss = nn.functional.mse_loss(model(batch), batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
    history.append(loss.item())
print(history[0], history[-1])
