"""The sequence goes first by a transpose, which leaves every sample whole."""
import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 16)
        self.fc = nn.Linear(16, 1)

    def forward(self, x):
        out, _ = self.rnn(x.transpose(0, 1))
        return self.fc(out[-1])


torch.manual_seed(0)
x = torch.randn(24, 7, 3)
y = x[:, -1, :1]
model = Forecaster()
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
losses = []
for epoch in range(30):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
