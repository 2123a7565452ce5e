"""A regression reads a time series in its order: neighbours in a batch are alike, but they are no classes."""
import adjoint as ad
from adjoint import nn
from adjoint.utils.data import DataLoader, TensorDataset

ad.manual_seed(4)
t = ad.linspace(-1, 1, 200).unsqueeze(1)
y = ad.sin(3 * t)
loader = DataLoader(TensorDataset(ad.cat([t, t ** 2, t ** 3], 1), y), batch_size=20, shuffle=False)
model = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
opt = ad.optim.Adam(model.parameters(), lr=3e-3)
history = []
for epoch in range(12):
    total = 0.0
    for xb, yb in loader:
        loss = nn.functional.mse_loss(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    history.append(total / len(loader))
print(history[0], history[-1])
