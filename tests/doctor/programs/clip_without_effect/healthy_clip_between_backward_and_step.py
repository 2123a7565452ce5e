"""Clipping stands between backward() and step(), after the scaler has unscaled."""

import torch
from torch import nn

torch.manual_seed(0)
series = torch.sin(torch.arange(0, 40, 0.2))
windows = series.unfold(0, 21, 1)
x, y = windows[:, :20].unsqueeze(-1), windows[:, 20:]

rnn = nn.RNN(1, 16, batch_first=True)
head = nn.Linear(16, 1)
params = [*rnn.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(params, lr=5e-3)
scaler = torch.amp.GradScaler("cpu", enabled=False)

for epoch in range(12):
    optimizer.zero_grad()
    out, _ = rnn(x)
    loss = nn.functional.mse_loss(head(out[:, -1]), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(params, max_norm=0.5)
    scaler.step(optimizer)
    scaler.update()
print(f"loss {loss.item():.4f}")
