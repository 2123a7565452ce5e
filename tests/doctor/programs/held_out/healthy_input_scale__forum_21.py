# credit default from a customer table: age, yearly income, debt, number of cards
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(22)


class CreditNet(nn.Module):
    def __init__(self, d_in=4, hidden=24):
        super().__init__()
        self.fc1 = nn.Linear(d_in, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        x = torch.tanh(self.fc1(x))
        x = torch.tanh(self.fc2(x))
        return self.out(x).squeeze(1)


def customers(n):
    age = torch.randint(18, 80, (n,)).float()
    income = 20000 + 80000 * torch.rand(n)
    debt = 60000 * torch.rand(n)
    cards = torch.randint(0, 6, (n,)).float()
    risk = 4 * debt / 60000 - 4 * (income - 20000) / 80000 + (cards - 2.5) / 2 - (age - 49) / 31
    return torch.stack([age, income, debt, cards], dim=1), (risk > 0).float()


x, y = customers(384)
x_val, y_val = customers(128)
mean, std = x.mean(dim=0), x.std(dim=0)
x, x_val = (x - mean) / std, (x_val - mean) / std
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = CreditNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(9):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()

model.eval()
with torch.no_grad():
    acc = ((model(x_val) > 0) == (y_val > 0.5)).float().mean().item()
print("train loss %.3f val acc %.3f" % (total / len(loader), acc))
