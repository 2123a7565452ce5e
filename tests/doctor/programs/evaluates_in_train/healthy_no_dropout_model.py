"""The validation never calls eval(), and the model has no layer for which it would matter."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
x = ad.randn(80, 4)
y = x[:, :1] + 2 * x[:, 1:2]
net = nn.Sequential(nn.Linear(4, 24), nn.LayerNorm(24), nn.ReLU(), nn.Linear(24, 1))
optimizer = ad.optim.Adam(net.parameters(), lr=0.01)
for _ in range(40):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x[:60]), y[:60])
    loss.backward()
    optimizer.step()
    with ad.no_grad():
        validation = nn.functional.mse_loss(net(x[60:]), y[60:])
print(f"{validation.item():.4f}")
