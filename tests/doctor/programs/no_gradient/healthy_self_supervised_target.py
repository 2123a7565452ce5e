"""The target branch is detached and moved by averaging; it is in no optimizer, as in BYOL."""

import copy

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
online = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 4))
predictor = nn.Linear(4, 4)
target = copy.deepcopy(online)
optimizer = ad.optim.Adam([*online.parameters(), *predictor.parameters()], lr=5e-3)
data = ad.randn(64, 6)

for step in range(40):
    first = data + 0.1 * ad.randn(64, 6)
    second = data + 0.1 * ad.randn(64, 6)
    prediction = nn.functional.normalize(predictor(online(first)), dim=-1)
    goal = nn.functional.normalize(target(second), dim=-1).detach()
    loss = 2 - 2 * (prediction * goal).sum(-1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with ad.no_grad():
        for slow, fast in zip(target.parameters(), online.parameters(), strict=True):
            slow.lerp_(fast, 0.05)
print(f"{loss.item():.4f}")
