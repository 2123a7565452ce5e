# two towers, contrastive: the other samples of the batch are the negatives
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(24)


class Tower(nn.Module):
    def __init__(self, d_in, d_out=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, 32), nn.ReLU(), nn.Linear(32, d_out))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


class TwoTowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = Tower(20)
        self.text = Tower(14)
        self.log_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, a, b):
        return self.log_scale.exp() * self.image(a) @ self.text(b).t()


def clip_loss(sim):
    target = torch.arange(sim.size(0))
    return 0.5 * (F.cross_entropy(sim, target) + F.cross_entropy(sim.t(), target))


latent = torch.randn(384, 6)
images = latent @ torch.randn(6, 20) / 2.5 + 0.1 * torch.randn(384, 20)
texts = latent @ torch.randn(6, 14) / 2.5 + 0.1 * torch.randn(384, 14)
loader = DataLoader(TensorDataset(images[:320], texts[:320]), batch_size=32, shuffle=True)
model = TwoTowers()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    model.train()
    total = 0.0
    for a, b in loader:
        optimizer.zero_grad()
        loss = clip_loss(model(a, b))
        loss.backward()
        optimizer.step()
        total += loss.item()

model.eval()
with torch.no_grad():
    sim = model(images[320:], texts[320:])
    top1 = (sim.argmax(dim=1) == torch.arange(64)).float().mean().item()
print("loss %.3f val top1 %.3f" % (total / len(loader), top1))
