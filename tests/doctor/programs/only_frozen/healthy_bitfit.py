"""Only the biases are trained, each filtered out by its name; all weights are frozen."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
for name, parameter in model.named_parameters():
    parameter.requires_grad = name.endswith("bias")
trainable = filter(lambda p: p.requires_grad, model.parameters())
optimizer = torch.optim.AdamW(trainable, lr=0.05, weight_decay=0.0)

x = torch.randn(100, 8)
with torch.no_grad():
    y = model(x) + 1.0
for step in range(40):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
