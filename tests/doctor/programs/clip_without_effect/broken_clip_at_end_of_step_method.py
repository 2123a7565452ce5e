"""The policy's optimizer steps first and the norm is limited afterwards, in a method of the agent."""

import torch
from torch import nn
from torch.distributions import Categorical


class Agent:
    def __init__(self):
        self.policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
        self.optimizer = torch.optim.RMSprop(self.policy.parameters(), lr=1e-2)

    def learn(self, log_probs, returns):
        loss = -(torch.stack(log_probs) * returns).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        torch.nn.utils.clip_grad_norm_(self.policy.parameters(), 0.5)  # guilty


torch.manual_seed(0)
agent = Agent()
for episode in range(15):
    log_probs, rewards = [], []
    for _ in range(10):
        state = torch.randn(3)
        distribution = Categorical(logits=agent.policy(state))
        action = distribution.sample()
        log_probs.append(distribution.log_prob(action))
        rewards.append(float(action.item() == int(state[0] > 0)))
    returns = torch.tensor(rewards) - sum(rewards) / len(rewards)
    agent.learn(log_probs, returns)
print(f"reward {sum(rewards):.0f}")
