"""REINFORCE keeps the log probabilities of an episode with their graphs until its one backward, and then clears them."""
import torch
from torch import nn

torch.manual_seed(3)
policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=2e-2)
saved_log_probs, rewards, returns = [], [], []
for episode in range(15):
    position = torch.zeros(2)
    for t in range(20):
        dist = torch.distributions.Categorical(logits=policy(position))
        action = dist.sample()
        saved_log_probs.append(dist.log_prob(action))
        position = position + torch.tensor([0.1, 0.0]) * (2 * action - 1)
        rewards.append(position[0].item())
    reward = torch.tensor(rewards)
    advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
    loss = -(torch.stack(saved_log_probs) * advantage.flip(0).cumsum(0).flip(0)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    returns.append(sum(rewards))
    saved_log_probs.clear()
    rewards.clear()
print(returns[0], returns[-1])
