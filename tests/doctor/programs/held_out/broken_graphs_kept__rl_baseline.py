"""The baseline of a policy gradient averages losses that still hold their graphs."""
import torch
from torch import nn
from torch.distributions import Categorical


class Bandit:
    def __init__(self, arms):
        self.means = torch.linspace(-1, 1, arms)

    def observe(self):
        return torch.randn(4)

    def pull(self, arm):
        return (self.means[arm] + 0.1 * torch.randn(())).item()


class Policy(nn.Module):
    def __init__(self, arms):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 16), nn.ReLU())
        self.head = nn.Linear(16, arms)

    def forward(self, obs):
        return Categorical(logits=self.head(self.body(obs)))


class Agent:
    def __init__(self, arms=5):
        self.env, self.policy = Bandit(arms), Policy(arms)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-2)
        self.baseline = 0.0
        self.stats = {"loss": 0.0, "steps": 0, "return": []}

    def act(self):
        dist = self.policy(self.env.observe())
        arm = dist.sample()
        return dist.log_prob(arm), dist.entropy(), self.env.pull(arm)

    def update(self):
        log_prob, entropy, reward = self.act()
        advantage = reward - self.baseline
        self.baseline = 0.95 * self.baseline + 0.05 * reward
        loss = -log_prob * advantage - 0.01 * entropy
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.stats["steps"] += 1
        self.stats["return"].append(reward)
        self.stats["loss"] = self.stats["loss"] + loss  # guilty


def smooth(values, width=40):
    return sum(values[-width:]) / width


torch.manual_seed(12)
agent = Agent()
for episode in range(200):
    agent.update()
    if episode == 40:
        early = smooth(agent.stats["return"])
print(early, smooth(agent.stats["return"]))
