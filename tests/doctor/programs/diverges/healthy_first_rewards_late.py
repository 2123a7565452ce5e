"""The TD errors are almost zero until the first rewards are found, so the loss rises much and is then learned."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
q = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
nn.init.zeros_(q[2].weight)
nn.init.zeros_(q[2].bias)
optimizer = torch.optim.SGD(q.parameters(), lr=0.5)

for step in range(150):
    state = torch.randn(32, 2)
    action = torch.randint(0, 2, (32, 1))
    found = 0.0 if step < 8 else 1.0
    reward = found * (state[:, :1] > 0).float() * action + 1e-3 * torch.randn(32, 1)
    loss = F.mse_loss(q(state).gather(1, action), reward)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"td loss {loss.item():.4f}")
