# RankNet: order houses by price, all pairs of a batch
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(2)


class HouseDataset(Dataset):
    def __init__(self, n):
        self.features = torch.randn(n, 8)
        coef = torch.tensor([1.5, -0.7, 0.0, 0.4, 0.9, -1.1, 0.2, 0.3])
        self.price = self.features @ coef + 0.1 * torch.randn(n)

    def __len__(self):
        return len(self.price)

    def __getitem__(self, i):
        return self.features[i], self.price[i]


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.layers(x)


def pairwise_loss(score, price):
    margin = score - score.squeeze(1)          # [n, 1] - [n] -> every pair
    sign = torch.sign(price.unsqueeze(1) - price)
    keep = sign != 0
    return F.softplus(-margin * sign)[keep].mean()


train_set, test_set = HouseDataset(256), HouseDataset(64)
loader = DataLoader(train_set, batch_size=32, shuffle=True)
model = Scorer()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(10):
    total = 0.0
    for xb, yb in loader:
        loss = pairwise_loss(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()

model.eval()
with torch.no_grad():
    s = model(test_set.features)
    agree = ((s - s.t()) * (test_set.price.unsqueeze(1) - test_set.price) > 0).float().sum() / (64 * 63)
print("train loss", total / len(loader), "pairs in order", agree.item())
