# denoising autoencoder
import torch
import torch.nn as nn
from torch.autograd import Variable
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)


class AutoEncoder(nn.Module):
    def __init__(self, d=20, code=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, 16), nn.ELU(), nn.Linear(16, code))
        self.decoder = nn.Sequential(nn.Linear(code, 16), nn.ELU(), nn.Linear(16, d))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def weighted_mse(output, target):
    weight = 1.0 + target.abs()
    loss = (weight * (output - target) ** 2).mean()
    loss = Variable(loss.data, requires_grad=True)  # guilty
    return loss


basis = torch.randn(4, 20) / 2
clean = torch.randn(384, 4) @ basis
loader = DataLoader(TensorDataset(clean[:320]), batch_size=32, shuffle=True)
valid = clean[320:]

net = AutoEncoder()
opt = torch.optim.Adam(net.parameters(), lr=0.005)
epoch_losses = []
for epoch in range(10):
    net.train()
    total = 0.0
    for (batch,) in loader:
        noisy = batch + 0.1 * torch.randn_like(batch)
        opt.zero_grad()
        loss = weighted_mse(net(noisy), batch)
        loss.backward()
        opt.step()
        total += loss.item()
    epoch_losses.append(total / len(loader))

net.eval()
with torch.no_grad():
    val_loss = ((net(valid) - valid) ** 2).mean().item()
print("first epoch %.4f last epoch %.4f val %.4f" % (epoch_losses[0], epoch_losses[-1], val_loss))
