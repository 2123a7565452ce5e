"""The cosine is told of five epochs and stepped per batch, so that the rate swings to zero and back within each epoch."""
import adjoint as ad
from adjoint import nn
from adjoint.utils.data import DataLoader, TensorDataset

ad.manual_seed(3)
x = ad.randn(200, 4)
y = ad.sin(x).sum(1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=5, shuffle=True)
model = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
opt = ad.optim.SGD(model.parameters(), lr=0.1)
epochs = 5
scheduler = ad.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs)
rates = []
for epoch in range(epochs):
    for xb, yb in loader:
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(xb), yb)
        loss.backward()
        opt.step()
        scheduler.step()  # guilty
        rates.append(scheduler.get_last_lr()[0])
print(loss.item(), min(rates[:40]), max(rates[:40]))
