# sensor windows: [batch, time, channels] -> activity
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(24)


class ActivityGRU(nn.Module):
    def __init__(self, channels=4, hidden=24, n_classes=3):
        super().__init__()
        self.gru = nn.GRU(channels, hidden)  # guilty
        self.fc = nn.Linear(hidden, n_classes)

    def forward(self, x):
        out, _ = self.gru(x)  # guilty
        return self.fc(out[:, -1, :])


def make_windows(n, time=10):
    y = torch.randint(0, 3, (n,))
    t = torch.arange(time).float()
    freq = 0.4 + 0.6 * y.float()
    phase = 6.28 * torch.rand(n, 4)
    x = torch.sin(freq.view(n, 1, 1) * t.view(1, time, 1) + phase.view(n, 1, 4))
    return x + 0.1 * torch.randn(n, time, 4), y


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(dim=1) == y).float().mean().item()


x, y = make_windows(384)
x_val, y_val = make_windows(96)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = ActivityGRU()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
print("loss %.3f val acc %.3f" % (total / len(loader), evaluate(model, x_val, y_val)))
