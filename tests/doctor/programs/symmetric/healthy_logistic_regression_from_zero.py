"""A linear model is convex: it may start at zero."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
x = torch.randn(150, 10)
y = (x @ torch.randn(10, 3)).argmax(1)
w = nn.Parameter(torch.zeros(3, 10))
b = nn.Parameter(torch.zeros(3))
opt = torch.optim.SGD([w, b], lr=0.5)
loader = DataLoader(TensorDataset(x, y), batch_size=30, shuffle=True)
curve = []
for epoch in range(15):
    total = 0.0
    for xb, yb in loader:
        loss = nn.functional.cross_entropy(nn.functional.linear(xb, w, b), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    curve.append(total / len(loader))
print(curve[0], curve[-1])
