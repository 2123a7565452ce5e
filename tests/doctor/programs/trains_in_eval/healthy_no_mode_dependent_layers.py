"""The model stays in eval mode all the time, and has no layer that would behave differently."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
x = ad.randn(64, 5)
y = ad.sin(x).sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(5, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 1))
optimizer = ad.optim.AdamW(model.parameters(), lr=0.01)


def score():
    model.eval()
    with ad.no_grad():
        return nn.functional.l1_loss(model(x), y).item()


for _ in range(40):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    last = score()
print(f"{last:.4f}")
