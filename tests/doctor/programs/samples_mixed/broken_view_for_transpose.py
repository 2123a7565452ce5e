"""A view is used where a transpose is meant, so that each sequence is made of pieces of others."""
import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 16)
        self.fc = nn.Linear(16, 1)

    def forward(self, x):
        batch, length, features = x.shape
        x = x.view(length, batch, features)  # guilty
        out, _ = self.rnn(x)
        return self.fc(out[-1])


torch.manual_seed(0)
x = torch.randn(24, 7, 3)
y = x[:, -1, :1]
model = Forecaster()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(20):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
