"""The probabilities are turned into logarithms, with a small number added, before nll_loss."""

import torch
from torch import nn

torch.manual_seed(1)
x = torch.randn(100, 8)
y = x[:, :5].argmax(1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 5), nn.Softmax(dim=-1))
loss_fn = nn.NLLLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for epoch in range(40):
    optimizer.zero_grad()
    probabilities = model(x)
    loss = loss_fn(torch.log(probabilities + 1e-8), y)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
