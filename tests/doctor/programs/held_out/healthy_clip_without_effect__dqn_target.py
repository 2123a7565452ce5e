"""The policy network is clipped; the target network, which has no gradients, is moved by hand."""

import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.optim as optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super().__init__()
        self.layer1 = nn.Linear(n_observations, 32)
        self.layer2 = nn.Linear(32, n_actions)

    def forward(self, x):
        return self.layer2(torch.relu(self.layer1(x)))


BATCH_SIZE, GAMMA, TAU = 16, 0.9, 0.05
random.seed(0)
torch.manual_seed(0)
policy_net, target_net = DQN(3, 2), DQN(3, 2)
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=5e-3, amsgrad=True)
memory = ReplayMemory(500)


def select_action(state, step):
    if random.random() < max(0.1, 1 - step / 60):
        return torch.tensor([random.randrange(2)])
    with torch.no_grad():
        return policy_net(state).argmax(1)


def optimize_model():
    if len(memory) < BATCH_SIZE:
        return None
    batch = Transition(*zip(*memory.sample(BATCH_SIZE), strict=True))
    states, actions = torch.cat(batch.state), torch.cat(batch.action).unsqueeze(1)
    q_values = policy_net(states).gather(1, actions)
    with torch.no_grad():
        next_values = target_net(torch.cat(batch.next_state)).max(1).values
    expected = (torch.cat(batch.reward) + GAMMA * next_values).unsqueeze(1)
    loss = nn.SmoothL1Loss()(q_values, expected)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(policy_net.parameters(), 0.5)
    optimizer.step()
    return loss.item()


state = torch.randn(1, 3)
for step in range(90):
    action = select_action(state, step)
    reward = (action == (state[:, 0] > 0)).float()
    next_state = torch.randn(1, 3)
    memory.push(state, action, next_state, reward)
    state = next_state
    loss = optimize_model()
    with torch.no_grad():
        for slow, fast in zip(target_net.parameters(), policy_net.parameters(), strict=True):
            slow.mul_(1 - TAU).add_(fast, alpha=TAU)
print(f"loss {loss:.4f}")
