"""The moving average of the loss is a tensor whose graph grows with every step."""
import adjoint as ad
from adjoint import nn

ad.manual_seed(3)
x = ad.randn(50, 4)
y = ad.cos(x).sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
opt = ad.optim.Adam(model.parameters(), lr=1e-2)
smooth = ad.tensor(0.0)
for _ in range(90):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    smooth = 0.95 * smooth + 0.05 * loss  # guilty
print(smooth.item())
