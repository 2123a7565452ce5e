"""The step is taken with maximize=True, copied from a policy-gradient script, so the error is made as large as possible."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
x = ad.randn(60, 3)
y = x.sum(dim=1, keepdim=True)
model = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 1))
optimizer = ad.optim.SGD(model.parameters(), lr=0.05, maximize=True)  # guilty

for _ in range(30):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if loss.item() > 1e12:
        break
print(f"{loss.item():.3e}")
