"""The quantization is cut by detach() but the encoder has its gradient by the straight-through sum, as in the VQ-VAE."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class VQVAE(nn.Module):
    def __init__(self, features=8, latent=2, codes=6):
        super().__init__()
        self.encoder = nn.Linear(features, latent)
        self.codebook = nn.Embedding(codes, latent)
        self.decoder = nn.Linear(latent, features)

    def forward(self, x):
        z = self.encoder(x)
        nearest = torch.cdist(z, self.codebook.weight).argmin(dim=1)
        q = self.codebook(nearest)
        commitment = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        q = z + (q - z).detach()
        return self.decoder(q), commitment


torch.manual_seed(0)
data = torch.randn(100, 2).sign() @ torch.randn(2, 8)
model = VQVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(80):
    reconstruction, commitment = model(data)
    loss = F.mse_loss(reconstruction, data) + commitment
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
