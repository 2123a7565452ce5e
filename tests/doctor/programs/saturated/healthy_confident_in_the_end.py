"""The classes can be separated, so that in the end nearly all outputs are near zero or one."""
import adjoint as ad
from adjoint import nn

ad.manual_seed(3)
x = ad.randn(100, 2)
x = x + 4 * ad.sign(x[:, :1])
y = (x[:, :1] > 0).float()
model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1), nn.Sigmoid())
opt = ad.optim.Adam(model.parameters(), lr=5e-2)
criterion = nn.BCELoss()
losses = []
for _ in range(120):
    loss = criterion(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
