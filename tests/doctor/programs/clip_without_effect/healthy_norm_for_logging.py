"""After the step the norm is only measured, by clip_grad_norm_ with an infinite limit; the real clip stands before it."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
x = ad.randn(80, 6) * 4
y = x[:, :2].argmax(dim=1)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = ad.optim.SGD(model.parameters(), lr=0.1)

norms = []
for epoch in range(30):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    before = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    after = nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
    norms.append((before.item(), after.item()))
print(f"loss {loss.item():.4f} norms {norms[0][0]:.2f} -> {norms[-1][1]:.2f}")
