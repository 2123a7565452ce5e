# predict the log of a concentration (values around -3)
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(15)


class Regressor(nn.Module):
    def __init__(self, d_in=7, hidden=32):
        super().__init__()
        self.fc1 = nn.Linear(d_in, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.out(x)


def make(n, w):
    x = torch.randn(n, 7)
    y = -3.0 + 0.5 * (x @ w) + 0.1 * torch.randn(n, 1)
    return x, y


def train(model, loader, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    criterion = nn.MSELoss()
    curve = []
    for epoch in range(epochs):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        curve.append(total / len(loader))
    return curve


w = torch.randn(7, 1) / 7 ** 0.5
x, y = make(256, w)
model = Regressor()
curve = train(model, DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True), epochs=10)
model.eval()
x_val, y_val = make(64, w)
with torch.no_grad():
    val = F.mse_loss(model(x_val), y_val).item()
print("train %.4f -> %.4f, val %.4f" % (curve[0], curve[-1], val))
