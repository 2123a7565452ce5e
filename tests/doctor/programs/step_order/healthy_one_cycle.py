"""OneCycleLR is made to be stepped with every batch: it was told how many there are."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
x = torch.randn(240, 8)
y = (x[:, :3].sum(1) > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=24, shuffle=True)
model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 2))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
epochs = 5
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=2e-2, epochs=epochs, steps_per_epoch=len(loader))
history = []
for epoch in range(epochs):
    for xb, yb in loader:
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        sched.step()
    history.append(loss.item())
print(history[0], history[-1])
