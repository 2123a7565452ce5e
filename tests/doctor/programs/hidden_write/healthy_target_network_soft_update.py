"""The target network is moved through .data while the loss is alive, but its forward pass was recorded by nobody."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
q_target = copy.deepcopy(q)
optimizer = torch.optim.Adam(q.parameters(), lr=5e-3)

for step in range(50):
    state, next_state = torch.randn(32, 4), torch.randn(32, 4)
    action = torch.randint(0, 2, (32, 1))
    reward = (state[:, :1] > 0).float() * action
    with torch.no_grad():
        goal = reward + 0.5 * q_target(next_state).max(1, keepdim=True).values
    loss = F.smooth_l1_loss(q(state).gather(1, action), goal)
    for target_param, param in zip(q_target.parameters(), q.parameters(), strict=True):
        target_param.data.copy_(0.95 * target_param.data + 0.05 * param.data)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"td loss {loss.item():.4f}")
