"""The critic's values are [n, 1] and the returns [n], so that every return is compared with every value."""

import torch
import torch.nn as nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 24), nn.Tanh())
        self.actor = nn.Linear(24, 2)
        self.critic = nn.Linear(24, 1)

    def forward(self, state):
        hidden = self.body(state)
        return Categorical(logits=self.actor(hidden)), self.critic(hidden)


def discount(rewards, gamma=0.9):
    returns, running = [], 0.0
    for r in reversed(rewards.tolist()):
        running = r + gamma * running
        returns.insert(0, running)
    return torch.tensor(returns)


torch.manual_seed(0)
net = ActorCritic()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for episode in range(20):
    states = torch.randn(30, 4)
    policy, values = net(states)
    actions = policy.sample()
    returns = discount((actions == (states[:, 0] > 0)).float())
    advantage = returns - values  # guilty
    loss = -(policy.log_prob(actions) * advantage.detach()).mean() + advantage.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
