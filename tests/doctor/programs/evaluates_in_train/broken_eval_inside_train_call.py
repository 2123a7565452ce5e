"""eval() is called before the epochs begin and train() in each of them, so every test runs in training mode."""

import torch
import torch.nn as nn


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 12, num_layers=2, dropout=0.4, batch_first=True)
        self.fc = nn.Linear(12, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


def train_epoch(model, x, y, optimizer):
    model.train()
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@torch.no_grad()
def test(model, x, y):
    return nn.functional.mse_loss(model(x), y).item()  # guilty


torch.manual_seed(0)
windows = torch.sin(torch.arange(0, 30, 0.3)).unfold(0, 11, 1)
x, y = windows[:, :10].unsqueeze(-1), windows[:, 10:]
model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
model.eval()
for epoch in range(10):
    train_epoch(model, x[:60], y[:60], optimizer)
    error = test(model, x[60:], y[60:])
print(f"test error {error:.4f}")
