"""An autoencoder of fourteen layers uses a sigmoid after each; the encoder gets no gradient to speak of."""
from itertools import pairwise

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def stack(sizes):
    layers = []
    for n_in, n_out in pairwise(sizes):
        layers.append(nn.Linear(n_in, n_out))
        layers.append(nn.Sigmoid())  # guilty
    return nn.Sequential(*layers)


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = stack([24, 20, 18, 16, 12, 10, 8, 4])
        self.decoder = stack([4, 8, 10, 12, 16, 18, 20, 24])

    def forward(self, x):
        return self.decoder(self.encoder(x))


torch.manual_seed(2)
data = torch.rand(128, 24)
model = AutoEncoder()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    for (batch,) in DataLoader(TensorDataset(data), batch_size=32, shuffle=True):
        loss = nn.functional.mse_loss(model(batch), batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item(), model.encoder[0].weight.grad.abs().max().item())
