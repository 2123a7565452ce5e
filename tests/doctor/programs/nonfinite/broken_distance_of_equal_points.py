"""The square root has an infinite slope at zero, which a pair of equal samples reaches."""
import torch
from torch import nn


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 8))

    def forward(self, a, b):
        diff = self.embed(a) - self.embed(b)
        return torch.sqrt((diff ** 2).sum(dim=1))  # guilty


def contrastive(distance, same, margin=2.0):
    return (same * distance ** 2 + (1 - same) * torch.clamp(margin - distance, min=0) ** 2 + 0.1 * distance).mean()


torch.manual_seed(1)
anchors = torch.randn(40, 10)
others = torch.randn(40, 10)
same = (torch.rand(40) < 0.5).float()
others[7] = anchors[7]

model = Siamese()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(15):
    loss = contrastive(model(anchors, others), same)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
