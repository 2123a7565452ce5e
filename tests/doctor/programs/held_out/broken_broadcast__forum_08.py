# # House prices
# In[1]:
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(2)


# In[2]:
class HouseDataset(Dataset):
    def __init__(self, n):
        self.features = torch.randn(n, 8)
        coef = torch.tensor([1.5, -0.7, 0.0, 0.4, 0.9, -1.1, 0.2, 0.3])
        self.price = self.features @ coef + 0.1 * torch.randn(n)

    def __len__(self):
        return len(self.price)

    def __getitem__(self, i):
        return self.features[i], self.price[i]


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.layers(x)


# In[3]:
train_set, test_set = HouseDataset(256), HouseDataset(64)
loader = DataLoader(train_set, batch_size=32, shuffle=True)
model = Regressor()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(10):
    total = 0.0
    for xb, yb in loader:
        pred = model(xb)
        loss = ((pred - yb) ** 2).mean()  # guilty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()

# In[4]:
model.eval()
with torch.no_grad():
    test_rmse = (model(test_set.features).squeeze(1) - test_set.price).pow(2).mean().sqrt().item()
print("train mse", total / len(loader), "test rmse", test_rmse)
