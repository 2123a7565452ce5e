"""The VAE's decoder takes a log of its own sigmoid, which rounds to one for large outputs."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

LATENT, HIDDEN, PIXELS = 3, 40, 36


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(PIXELS, HIDDEN), nn.ReLU())
        self.mu = nn.Linear(HIDDEN, LATENT)
        self.logvar = nn.Linear(HIDDEN, LATENT)
        self.dec = nn.Sequential(nn.Linear(LATENT, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, PIXELS))
        self.temperature = 0.02

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        return self.dec(self.reparameterize(mu, logvar)) / self.temperature, mu, logvar


def elbo(logits, x, mu, logvar, beta):
    p = torch.sigmoid(logits)
    rec = -(x * torch.log(p) + (1 - x) * torch.log(1 - p)).sum(1).mean()  # guilty
    kld = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return rec + beta * kld, rec, kld


def digits(n):
    rows = torch.randint(0, 6, (n,))
    images = (torch.rand(n, 6, 6) < 0.1).float()
    images[torch.arange(n), rows] = 1.0
    return F.dropout(images, 0.05).clamp(0, 1).flatten(1)


def main():
    torch.manual_seed(10)
    loader = DataLoader(TensorDataset(digits(192)), batch_size=32, shuffle=True, drop_last=True)
    vae = VAE()
    optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)
    log = []
    for epoch in range(6):
        beta = min(1.0, epoch / 4)
        sums = torch.zeros(3)
        for (batch,) in loader:
            optimizer.zero_grad(set_to_none=True)
            logits, mu, logvar = vae(batch)
            loss, rec, kld = elbo(logits, batch, mu, logvar, beta)
            loss.backward()
            nn.utils.clip_grad_norm_(vae.parameters(), 100.0)
            optimizer.step()
            sums += torch.tensor([loss.item(), rec.item(), kld.item()])
        log.append((sums / len(loader)).tolist())
    print(log[0][1], log[-1][1])


main()
