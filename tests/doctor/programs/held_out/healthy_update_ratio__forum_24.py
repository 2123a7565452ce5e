# VAE on binary vectors
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(25)


class VAE(nn.Module):
    def __init__(self, d=24, hidden=32, z=3):
        super().__init__()
        self.enc = nn.Linear(d, hidden)
        self.mu = nn.Linear(hidden, z)
        self.logvar = nn.Linear(hidden, z)
        self.dec1 = nn.Linear(z, hidden)
        self.dec2 = nn.Linear(hidden, d)

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.dec2(F.relu(self.dec1(z))), mu, logvar


def elbo(logits, x, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (rec + kl) / x.size(0)


data = (torch.randn(384, 3) @ (3 * torch.randn(3, 24)) > 0).float()
loader = DataLoader(TensorDataset(data[:320]), batch_size=32, shuffle=True)
vae = VAE()
optimizer = torch.optim.AdamW(vae.parameters(), lr=3e-3)
curve = []
for epoch in range(10):
    vae.train()
    total = 0.0
    for (x,) in loader:
        logits, mu, logvar = vae(x)
        loss = elbo(logits, x, mu, logvar)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    curve.append(total / len(loader))

vae.eval()
with torch.no_grad():
    logits, mu, logvar = vae(data[320:])
    val = elbo(logits, data[320:], mu, logvar).item()
print("loss %.3f -> %.3f, val %.3f" % (curve[0], curve[-1], val))
