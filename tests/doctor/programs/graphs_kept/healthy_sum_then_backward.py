"""The losses of sixty tasks are added up as tensors on purpose: one backward follows."""
import torch
from torch import nn

torch.manual_seed(2)
base = torch.randn(5)
tasks = [(torch.randn(8, 5), base + 0.1 * torch.randn(5)) for _ in range(60)]
model = nn.Linear(5, 1, bias=False)
opt = torch.optim.SGD(model.parameters(), lr=0.2)
meta_losses = []
for epoch in range(6):
    meta_loss = 0
    losses = []
    for x, w in tasks:
        task_loss = ((model(x).squeeze(1) - x @ w) ** 2).mean()
        meta_loss += task_loss
        losses.append(task_loss)
    meta_loss = meta_loss / len(losses)
    opt.zero_grad()
    meta_loss.backward()
    opt.step()
    meta_losses.append(meta_loss.item())
print(meta_losses[0], meta_losses[-1])
