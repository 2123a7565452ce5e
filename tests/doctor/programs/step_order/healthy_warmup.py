"""A warm-up from almost zero over the first ten batches, stepped with every batch."""
import torch
from torch import nn

torch.manual_seed(2)
x = torch.randn(64, 6, 8)
y = x.mean(1)[:, :1]
layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
head = nn.Linear(8, 1)
params = [*layer.parameters(), *head.parameters()]
opt = torch.optim.Adam(params, lr=1e-2)
warmup = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min((step + 1e-3) / 10, 10 / (step + 1)) if step < 10 else (10 / step) ** 0.5)
losses = []
for step in range(40):
    loss = nn.functional.mse_loss(head(layer(x).mean(1)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    warmup.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
