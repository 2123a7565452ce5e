"""One step is taken after twenty backward passes of single samples."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
x = ad.randn(20, 4)
y = x[:, :1] * 2 - x[:, 1:2]
net = nn.Sequential(nn.Linear(4, 10), nn.GELU(), nn.Linear(10, 1))
opt = ad.optim.AdamW(net.parameters(), lr=0.05)

for epoch in range(16):
    opt.zero_grad()
    total = 0.0
    for sample, target in zip(x, y, strict=True):
        loss = nn.functional.mse_loss(net(sample), target) / len(x)
        loss.backward()
        total += loss.item()
    opt.step()
print(f"{total:.4f}")
