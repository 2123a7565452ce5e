"""Half of the ReLU units are off for a sample, which is what ReLU does."""
import adjoint as ad
from adjoint import nn

ad.manual_seed(3)
x = ad.randn(128, 16)
y = (x[:, 0] * x[:, 1] > 0).long()
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
with ad.no_grad():
    model[0].bias.uniform_(-1.0, 0.2)
opt = ad.optim.Adam(model.parameters(), lr=3e-3)
losses = []
for _ in range(60):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
