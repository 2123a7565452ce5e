import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)


class Encoder(nn.Module):
    def __init__(self, d_in=10, d_out=16):
        super().__init__()
        self.fc1 = nn.Linear(d_in, 32)
        self.fc2 = nn.Linear(32, d_out)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        z = self.encoder(x)
        # log compression of the features
        z = torch.from_numpy(np.log1p(np.abs(z.detach().numpy())))  # guilty
        return self.head(z)


X = torch.randn(400, 10)
Y = ((X[:, 0] * X[:, 1] + X[:, 2]) > 0).long()
train_loader = DataLoader(TensorDataset(X[:320], Y[:320]), batch_size=32, shuffle=True)

model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(8):
    epoch_loss = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()

with torch.no_grad():
    acc = (model(X[320:]).argmax(dim=1) == Y[320:]).float().mean().item()
print("loss %.3f, val acc %.3f" % (epoch_loss / len(train_loader), acc))
