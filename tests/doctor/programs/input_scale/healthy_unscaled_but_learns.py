"""The features are large and the learning rate is small enough for them: the loss falls from the start."""
import adjoint as ad
from adjoint import nn

ad.manual_seed(3)
x = ad.rand(100, 4) * 120
y = (x[:, :1] - x[:, 1:2]) / 50
model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
opt = ad.optim.Adam(model.parameters(), lr=2e-4)
losses = []
for _ in range(80):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
