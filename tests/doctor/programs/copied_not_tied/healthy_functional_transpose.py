"""The decoder uses the encoder's weight itself, transposed in the forward pass."""
import torch
import torch.nn.functional as F
from torch import nn


class TiedAutoencoder(nn.Module):
    def __init__(self, n, k):
        super().__init__()
        self.encode = nn.Linear(n, k)
        self.decoder_bias = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        h = torch.tanh(self.encode(x))
        return F.linear(h, self.encode.weight.t(), self.decoder_bias)


torch.manual_seed(3)
x = torch.randn(100, 4) @ torch.randn(4, 12)
model = TiedAutoencoder(12, 6)
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
losses = []
for epoch in range(50):
    loss = F.mse_loss(model(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
