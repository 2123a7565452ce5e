"""A Siamese network should have one tower for both inputs; the deep copy is a second one that drifts away."""
import copy

import torch
from torch import nn

torch.manual_seed(2)
tower = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 8))


class Siamese(nn.Module):
    def __init__(self, tower):
        super().__init__()
        self.left = tower
        self.right = copy.deepcopy(tower)  # guilty

    def forward(self, a, b):
        return nn.functional.cosine_similarity(self.left(a), self.right(b))


a, b = torch.randn(64, 10), torch.randn(64, 10)
same = torch.where(torch.rand(64) < 0.5, 1.0, -1.0)
b = torch.where(same[:, None] > 0, a + 0.1 * b, b)
model = Siamese(tower)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(30):
    loss = nn.functional.mse_loss(model(a, b), same)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), (model.left[0].weight - model.right[0].weight).abs().max().item())
