import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class SmallCNN(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.conv2 = nn.Conv2d(6, 12, 3, padding=1)
        self.fc = nn.Linear(12 * 2 * 2, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


patterns = torch.randn(3, 1, 8, 8)
labels = torch.randint(0, 3, (320,))
images = patterns[labels] + 0.7 * torch.randn(320, 1, 8, 8)
train_dl = DataLoader(TensorDataset(images[:256], labels[:256]), batch_size=32, shuffle=True)
val_dl = DataLoader(TensorDataset(images[256:], labels[256:]), batch_size=32)

model = SmallCNN().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(6):
    model.train()
    running = 0.0
    for xb, yb in train_dl:
        xb, yb = xb.to(device), yb.to(device)
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.zero_grad()  # guilty
        optimizer.step()
        running += loss.item()

model.eval()
correct = 0
with torch.no_grad():
    for xb, yb in val_dl:
        correct += (model(xb.to(device)).argmax(1) == yb.to(device)).sum().item()
print("train loss", running / len(train_dl), "val acc", correct / 64)
