"""A plain RNN whose recurrent matrix has a radius of 1.6 multiplies its gradient at each of 16 steps; the clip hides it."""
import torch
from torch import nn


class RNN(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.inp = nn.Linear(2, dim)
        self.rec = nn.Linear(dim, dim, bias=False)
        self.out = nn.Linear(dim, 1)
        nn.init.orthogonal_(self.rec.weight, gain=1.6)  # guilty

    def forward(self, seq):
        h = seq.new_zeros(seq.shape[0], 8)
        for t in range(seq.shape[1]):
            h = self.inp(seq[:, t]) + self.rec(h)
        return self.out(h)


torch.manual_seed(1)
seq = torch.randn(12, 16, 2)
target = seq.mean(dim=(1, 2)).unsqueeze(1)
model = RNN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)
for step in range(120):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(seq), target)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=5.0)  # guilty
    optimizer.step()
print(loss.item(), norm.item())
