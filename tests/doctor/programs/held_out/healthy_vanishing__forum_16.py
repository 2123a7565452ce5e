# highway network: sigmoid gates in every layer, but the carry path keeps the signal
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(16)


class Highway(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.transform = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)
        nn.init.constant_(self.gate.bias, -1.0)

    def forward(self, x):
        g = torch.sigmoid(self.gate(x))
        return g * torch.tanh(self.transform(x)) + (1 - g) * x


class DeepNet(nn.Module):
    def __init__(self, d_in=10, width=32, depth=8, n_classes=3):
        super().__init__()
        self.inp = nn.Linear(d_in, width)
        self.hidden = nn.Sequential(*[Highway(width) for _ in range(depth)])
        self.out = nn.Linear(width, n_classes)

    def forward(self, x):
        return self.out(self.hidden(self.inp(x)))


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(dim=1) == y).float().mean().item()


w = torch.randn(10, 3)
x = torch.randn(384, 10)
y = (x @ w).argmax(dim=1)
loader = DataLoader(TensorDataset(x[:320], y[:320]), batch_size=32, shuffle=True)

model = DeepNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss()
epoch_loss = []
for epoch in range(8):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    epoch_loss.append(total / len(loader))
print("losses", [round(v, 4) for v in epoch_loss], "val acc", accuracy(model, x[320:], y[320:]))
