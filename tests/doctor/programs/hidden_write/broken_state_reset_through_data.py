"""The recurrent state is zeroed at the ends of episodes through .data, after the step that used it was recorded."""

import torch
from torch import nn

torch.manual_seed(0)
cell = nn.Linear(6, 4)
readout = nn.Linear(4, 1)
optimizer = torch.optim.RMSprop([*cell.parameters(), *readout.parameters()], lr=5e-3)

for update in range(20):
    state = torch.zeros(8, 4)
    observations = torch.randn(10, 8, 2)
    ends = torch.rand(10, 8) < 0.3
    targets = observations.cumsum(0).mean(-1, keepdim=True)
    losses = []
    for t in range(10):
        state = torch.tanh(cell(torch.cat([observations[t], state], dim=1)))
        losses.append((readout(state) - targets[t]).pow(2).mean())
        state.data[ends[t]] = 0.0  # guilty
    loss = torch.stack(losses).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
