"""The optimizer of the body is made while the body is frozen, and is stepped only after the body was thawed."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
body = nn.Sequential(nn.Linear(6, 16), nn.GELU()).requires_grad_(False)
head = nn.Linear(16, 2)
head_optimizer = ad.optim.Adam(head.parameters(), lr=0.02)
body_optimizer = ad.optim.Adam(body.parameters(), lr=0.01)
x = ad.randn(60, 6)
y = (x[:, 0] * x[:, 1] > 0).long()

for epoch in range(60):
    thawed = epoch >= 15
    if epoch == 15:
        body.requires_grad_(True)
    head_optimizer.zero_grad()
    body_optimizer.zero_grad()
    loss = nn.functional.cross_entropy(head(body(x)), y)
    loss.backward()
    head_optimizer.step()
    if thawed:
        body_optimizer.step()
print(f"{loss.item():.4f}")
