"""The averaged weights are swapped in through .data after the step, and out again before the next forward pass."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self, features=10, hidden=16, latent=2):
        super().__init__()
        self.encoder = nn.Linear(features, hidden)
        self.mu = nn.Linear(hidden, latent)
        self.logvar = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, features))

    def forward(self, x):
        h = F.relu(self.encoder(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.decoder(z), mu, logvar


class EMA:
    def __init__(self, model, decay):
        self.model, self.decay = model, decay
        self.shadow = {name: p.data.clone() for name, p in model.named_parameters()}
        self.backup = {}

    def update(self):
        for name, p in self.model.named_parameters():
            self.shadow[name].mul_(self.decay).add_(p.data, alpha=1 - self.decay)

    def apply(self):
        for name, p in self.model.named_parameters():
            self.backup[name] = p.data.clone()
            p.data.copy_(self.shadow[name])

    def restore(self):
        for name, p in self.model.named_parameters():
            p.data.copy_(self.backup[name])


torch.manual_seed(0)
data = torch.randn(120, 2) @ torch.randn(2, 10)
vae = VAE()
ema = EMA(vae, decay=0.98)
optimizer = torch.optim.Adam(vae.parameters(), lr=1e-2)
samples = []
for epoch in range(40):
    batch = data[torch.randperm(120)[:40]]
    reconstruction, mu, logvar = vae(batch)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    loss = F.mse_loss(reconstruction, batch, reduction="none").sum(1).mean() + 0.1 * kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update()
    ema.apply()
    with torch.no_grad():
        samples.append(vae.decoder(torch.randn(4, 2)).mean().item())
    ema.restore()
print(f"loss {loss.item():.3f}, kl {kl.item():.3f}, last sample {samples[-1]:.3f}")
