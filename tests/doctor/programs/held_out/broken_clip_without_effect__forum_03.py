# LSTM forecasting of a noisy sine
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)


class Forecaster(nn.Module):
    def __init__(self, hidden=20):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


def make_windows(n=256, length=12):
    phase = torch.rand(n, 1) * 6.28
    t = torch.arange(length + 1).float() * 0.4
    series = 3.0 * torch.sin(t + phase) + 0.05 * torch.randn(n, length + 1)
    return series[:, :-1].unsqueeze(-1), series[:, -1:]


def train(model, loader, epochs=8):
    optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-3)
    loss_fn = nn.MSELoss()
    for epoch in range(epochs):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            optimizer.step()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)  # guilty
            total += loss.item() * x.size(0)
    return total / len(loader.dataset)


x, y = make_windows()
x_val, y_val = make_windows(64)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = Forecaster()
final = train(model, loader)
model.eval()
with torch.no_grad():
    val = nn.functional.mse_loss(model(x_val), y_val).item()
print(f"train {final:.4f} val {val:.4f}")
