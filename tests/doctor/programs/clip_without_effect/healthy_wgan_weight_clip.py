"""The weights, not the gradients, are clipped after the step, as in the Wasserstein GAN."""

import torch
import torch.nn as nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
generator = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2))
opt_c = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
opt_g = torch.optim.RMSprop(generator.parameters(), lr=1e-3)

for i in range(15):
    for _ in range(3):
        real = torch.randn(32, 2) * 0.2 + 1.5
        with torch.no_grad():
            fake = generator(torch.randn(32, 2))
        opt_c.zero_grad()
        loss_c = critic(fake).mean() - critic(real).mean()
        loss_c.backward()
        opt_c.step()
        for p in critic.parameters():
            p.data.clamp_(-0.05, 0.05)
    opt_g.zero_grad()
    loss_g = -critic(generator(torch.randn(32, 2))).mean()
    loss_g.backward()
    opt_g.step()
print(f"critic {loss_c.item():.4f}")
