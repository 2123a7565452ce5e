"""The decoder of a tied autoencoder copies the transposed encoder once and then goes its own way."""
import torch
from torch import nn


class TiedAutoencoder(nn.Module):
    def __init__(self, n, k):
        super().__init__()
        self.encode = nn.Linear(n, k)
        self.decode = nn.Linear(k, n)
        self.decode.weight.data = self.encode.weight.data.t().clone()  # guilty

    def forward(self, x):
        return self.decode(torch.relu(self.encode(x)))


torch.manual_seed(1)
x = torch.randn(100, 4) @ torch.randn(4, 12)
model = TiedAutoencoder(12, 6)
opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for epoch in range(40):
    loss = nn.functional.mse_loss(model(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), (model.decode.weight - model.encode.weight.t()).abs().max().item())
