"""The leaf made from an encoder's detached output is what is optimized, by a loss of it."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
encoder = nn.Linear(12, 3)
generator = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 12)).requires_grad_(False)
goal = generator(ad.randn(5, 3))

latent = encoder(goal).detach().requires_grad_()
optimizer = ad.optim.Adam([latent], lr=0.1)
for _ in range(50):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(generator(latent), goal) + 1e-3 * latent.pow(2).mean()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
