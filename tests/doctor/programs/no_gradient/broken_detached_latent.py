"""The latent is detached between encoder and decoder, so the encoder never learns."""

import torch
import torch.nn as nn


class AutoEncoder(nn.Module):
    def __init__(self, features, latent):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(features, 16), nn.ReLU(), nn.Linear(16, latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 16), nn.ReLU(), nn.Linear(16, features))

    def forward(self, x):
        z = self.encoder(x)
        code = z.detach()  # guilty
        return self.decoder(code), z


torch.manual_seed(0)
data = torch.randn(128, 3) @ torch.randn(3, 12)
model = AutoEncoder(12, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(40):
    optimizer.zero_grad()
    reconstruction, code = model(data)
    loss = nn.functional.mse_loss(reconstruction, data)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}, spread of codes {code.std().item():.3f}")
