"""The loss jumps when the data change to a scale twenty times larger, and falls again."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = ad.optim.Adam(model.parameters(), lr=0.02)

history = []
for step in range(120):
    scale = 1.0 if step < 50 else 20.0
    x = ad.randn(32, 3)
    y = scale * x.sum(dim=1, keepdim=True)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item())
print(f"{history[0]:.2f} {history[50]:.2f} {history[-1]:.2f}")
