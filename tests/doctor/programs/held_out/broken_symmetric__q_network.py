"""A Q-network fills all its hidden weights with one number, so that its first layer has in truth one unit."""
import copy
import random
from collections import deque

import torch
from torch import nn


class QNet(nn.Module):
    def __init__(self, obs, actions, hidden=24):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(obs, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, actions)])
        for layer in self.layers[:-1]:
            layer.weight.data.fill_(1.0 / layer.in_features)  # guilty
            layer.bias.data.fill_(0.01)

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


class Replay:
    def __init__(self, capacity=500):
        self.items = deque(maxlen=capacity)

    def push(self, *item):
        self.items.append(item)

    def sample(self, n):
        return [torch.stack(column) for column in zip(*random.sample(list(self.items), n), strict=True)]


def environment(state, action):
    reward = state[0] * (1.0 if action == 0 else -1.0) + state[1] * (1.0 if action == 2 else 0.0)
    return torch.tanh(0.5 * state + 0.5 * torch.randn(4)), reward


random.seed(0)
torch.manual_seed(16)
online = QNet(4, 3)
target = copy.deepcopy(online)
optimizer = torch.optim.Adam(online.parameters(), lr=5e-3)
memory, state, losses = Replay(), torch.randn(4), []
for step in range(160):
    with torch.no_grad():
        greedy = online(state).argmax().item()
    action = random.randrange(3) if random.random() < 0.3 else greedy
    following, reward = environment(state, action)
    memory.push(state, torch.tensor(action), reward, following)
    state = following
    if step < 64:
        continue
    s, a, r, n = memory.sample(32)
    with torch.no_grad():
        wanted = r + 0.3 * target(n).max(1).values
    loss = nn.functional.mse_loss(online(s).gather(1, a[:, None]).squeeze(1), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        target.load_state_dict(online.state_dict())
    losses.append(loss.item())
print(losses[0], losses[-1], online.layers[0].weight.std(0).max().item())
