"""The policy's log-probabilities are normalized over the batch of states, not over the actions."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Policy(nn.Module):
    def __init__(self, observations, actions):
        super().__init__()
        self.affine1 = nn.Linear(observations, 32)
        self.affine2 = nn.Linear(32, actions)

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.log_softmax(self.affine2(x), dim=0)  # guilty


torch.manual_seed(0)
expert_states = torch.randn(100, 4)
expert_actions = (expert_states[:, 0] + expert_states[:, 1] > 0).long()
policy = Policy(4, 2)
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
for step in range(30):
    batch = torch.randint(0, 100, (25,))
    loss = F.nll_loss(policy(expert_states[batch]), expert_actions[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"imitation loss {loss.item():.4f}")
