"""The projection is made anew in every forward pass, so it is random in every step and never trained."""

import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.hidden = hidden
        self.rnn = nn.GRU(features, hidden, batch_first=True)

    def forward(self, x):
        out, _ = self.rnn(x)
        projection = nn.Linear(self.hidden, 1)  # guilty
        return projection(out[:, -1])  # guilty


torch.manual_seed(0)
x = torch.randn(40, 5, 3)
y = x.sum(dim=(1, 2)).unsqueeze(1) / 4
model = Encoder(3, 10)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(20):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
