"""The inputs of nll_loss are log-densities, which may be positive where the density is above one."""

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
centres = torch.tensor([-0.3, 0.0, 0.3])
labels = torch.randint(0, 3, (90,))
x = centres[labels] + 0.03 * torch.randn(90)
means = nn.Parameter(torch.tensor([-0.5, 0.1, 0.4]))
log_scales = nn.Parameter(torch.full((3,), -1.5))
optimizer = torch.optim.Adam([means, log_scales], lr=0.03)

for epoch in range(50):
    log_density = Normal(means, log_scales.exp()).log_prob(x.unsqueeze(1))
    loss = nn.functional.nll_loss(log_density, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"nll {loss.item():.4f}")
