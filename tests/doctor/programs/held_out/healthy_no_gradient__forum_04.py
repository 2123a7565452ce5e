# DQN on a replay buffer of made-up transitions
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
GAMMA, N_ACTIONS, STATE = 0.9, 3, 6


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(STATE, 32)
        self.fc2 = nn.Linear(32, 32)
        self.out = nn.Linear(32, N_ACTIONS)

    def forward(self, s):
        return self.out(F.relu(self.fc2(F.relu(self.fc1(s)))))


class ReplayBuffer:
    def __init__(self, n=512):
        self.s = torch.randn(n, STATE)
        self.a = torch.randint(0, N_ACTIONS, (n,))
        self.r = self.s.gather(1, self.a.unsqueeze(1)).squeeze(1)
        self.s2 = 0.9 * self.s + 0.3 * torch.randn(n, STATE)
        self.done = (torch.rand(n) < 0.1).float()

    def sample(self, batch):
        i = torch.randint(0, len(self.s), (batch,))
        return self.s[i], self.a[i], self.r[i], self.s2[i], self.done[i]


policy, target = QNet(), QNet()
target.load_state_dict(policy.state_dict())
buffer = ReplayBuffer()
optimizer = torch.optim.Adam(policy.parameters(), lr=2e-3)
losses = []

for step in range(120):
    s, a, r, s2, done = buffer.sample(64)
    q = policy(s).gather(1, a.unsqueeze(1)).squeeze(1)
    q_next = target(s2).max(dim=1).values.detach()
    expected = r + GAMMA * (1 - done) * q_next
    loss = F.smooth_l1_loss(q, expected)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if (step + 1) % 20 == 0:
        target.load_state_dict(policy.state_dict())

with torch.no_grad():
    greedy = policy(buffer.s).argmax(dim=1)
    best = (greedy == buffer.s[:, :N_ACTIONS].argmax(dim=1)).float().mean().item()
print("loss %.4f -> %.4f, greedy agrees %.2f" % (losses[0], losses[-1], best))
