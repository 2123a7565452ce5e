"""In LoRA the factor B starts at zero, so that A has no gradient in the first step only; the base is frozen."""
import torch
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8.0):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad_(False)
        self.A = nn.Parameter(torch.randn(rank, base.in_features) / rank)
        self.B = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.A.T) @ self.B.T


torch.manual_seed(4)
x, y = torch.randn(64, 12), torch.randn(64, 1)
net = nn.Sequential(LoRALinear(nn.Linear(12, 32)), nn.ReLU(), LoRALinear(nn.Linear(32, 1)))
opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=1e-2)
first = None
for step in range(80):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    first = first or loss.item()
print(first, loss.item())
