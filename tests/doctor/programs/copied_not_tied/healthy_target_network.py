"""The target network of a DQN starts as a copy and is in no optimizer; it follows slowly."""
import copy

import torch
from torch import nn

torch.manual_seed(2)
q_net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
target_net = copy.deepcopy(q_net)
optimizer = torch.optim.Adam(q_net.parameters(), lr=5e-3)
state = torch.randn(200, 4)
next_state = torch.randn(200, 4)
action = torch.randint(0, 2, (200, 1))
reward = state[:, :1] * (2 * action - 1)
losses = []
for step in range(60):
    with torch.no_grad():
        best = target_net(next_state).max(1, keepdim=True).values
        target = reward + 0.5 * best
    q = q_net(state).gather(1, action)
    loss = nn.functional.smooth_l1_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for p, tp in zip(q_net.parameters(), target_net.parameters(), strict=True):
            tp.mul_(0.95).add_(0.05 * p)
    losses.append(loss.item())
print(losses[0], losses[-1])
