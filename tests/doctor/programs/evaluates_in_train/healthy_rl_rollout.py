"""The rollouts under no_grad use the policy in train mode on purpose, and what they collect is what is learned from."""

import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Dropout(0.1), nn.Linear(24, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)

for update in range(25):
    states = torch.randn(64, 3)
    with torch.no_grad():
        behaviour = Categorical(logits=policy(states))
        actions = behaviour.sample()
        old_log_prob = behaviour.log_prob(actions)
    reward = (actions == (states[:, 0] > 0)).float()
    advantage = reward - reward.mean()
    for _ in range(2):
        ratio = (Categorical(logits=policy(states)).log_prob(actions) - old_log_prob).exp()
        loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"reward {reward.mean().item():.2f}")
