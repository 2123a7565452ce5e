"""Actor and critic have an optimizer each, and each is stepped after its own loss."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Actor(nn.Module):
    def __init__(self, state_dim, action_dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(state_dim, 24), nn.ReLU(), nn.Linear(24, action_dim), nn.Tanh())

    def forward(self, state):
        return self.net(state)


class Critic(nn.Module):
    def __init__(self, state_dim, action_dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(state_dim + action_dim, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, state, action):
        return self.net(torch.cat([state, action], dim=1))


class DDPG:
    def __init__(self, state_dim, action_dim, gamma=0.5, tau=0.05):
        self.actor, self.critic = Actor(state_dim, action_dim), Critic(state_dim, action_dim)
        self.actor_target, self.critic_target = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=3e-3)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=1e-2)
        self.gamma, self.tau = gamma, tau

    def update(self, state, action, reward, next_state):
        with torch.no_grad():
            target_q = reward + self.gamma * self.critic_target(next_state, self.actor_target(next_state))
        critic_loss = F.mse_loss(self.critic(state, action), target_q)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()

        actor_loss = -self.critic(state, self.actor(state)).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()

        for net, target in ((self.actor, self.actor_target), (self.critic, self.critic_target)):
            for p, tp in zip(net.parameters(), target.parameters(), strict=True):
                tp.data.copy_(self.tau * p.data + (1 - self.tau) * tp.data)
        return critic_loss.item(), actor_loss.item()


torch.manual_seed(0)
agent = DDPG(3, 1)
for step in range(150):
    state = torch.randn(48, 3)
    with torch.no_grad():
        action = (agent.actor(state) + 0.8 * torch.randn(48, 1)).clamp(-1, 1)
    reward = 1 - (action - torch.tanh(state[:, :1])).pow(2)
    losses = agent.update(state, action, reward, torch.randn(48, 3))
with torch.no_grad():
    error = (agent.actor(state) - torch.tanh(state[:, :1])).pow(2).mean()
print(f"critic {losses[0]:.3f} actor {losses[1]:.3f} error of the policy {error.item():.3f}")
