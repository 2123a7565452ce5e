"""scheduler.step() is called where optimizer.step() should be."""

import warnings

import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR

warnings.filterwarnings("ignore")


def build():
    model = nn.GRU(3, 12, batch_first=True)
    head = nn.Linear(12, 1)
    parameters = list(model.parameters()) + list(head.parameters())
    optimizer = torch.optim.SGD(parameters, lr=0.1)  # guilty
    return model, head, optimizer, StepLR(optimizer, step_size=10, gamma=0.5)


torch.manual_seed(0)
sequences = torch.randn(32, 6, 3)
sums = sequences.sum(dim=(1, 2)).unsqueeze(1) / 4
gru, head, optimizer, scheduler = build()
for iteration in range(20):
    optimizer.zero_grad()
    states, _ = gru(sequences)
    loss = nn.functional.mse_loss(head(states[:, -1]), sums)
    loss.backward()
    scheduler.step()
print(f"loss {loss.item():.3f}")
