"""ReduceLROnPlateau hears the validation loss at the end of each epoch."""
import adjoint as ad
from adjoint import nn
from adjoint.utils.data import DataLoader, TensorDataset

ad.manual_seed(3)
x = ad.randn(150, 5)
y = x[:, :1] * x[:, 1:2]
loader = DataLoader(TensorDataset(x[:120], y[:120]), batch_size=20, shuffle=True)
model = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
opt = ad.optim.Adam(model.parameters(), lr=2e-2)
scheduler = ad.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1, factor=0.5)
history = []
for epoch in range(15):
    for xb, yb in loader:
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(xb), yb)
        loss.backward()
        opt.step()
    with ad.no_grad():
        val = nn.functional.mse_loss(model(x[120:]), y[120:])
    scheduler.step(val)
    history.append(loss.item())
print(history[0], history[-1])
