"""The network returns logits; the softmax is in predict(), which the loss does not use."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset, random_split


class Net(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(6)
        self.conv2 = nn.Conv2d(6, 8, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.drop = nn.Dropout(0.1)
        self.fc1 = nn.Linear(8 * 2 * 2, 16)
        self.fc2 = nn.Linear(16, num_classes)

    def forward(self, x):
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = self.drop(F.relu(self.fc1(x)))
        return self.fc2(x)

    @torch.no_grad()
    def predict(self, x):
        return torch.softmax(self(x), dim=1).max(dim=1)


torch.manual_seed(1)
labels = torch.randint(0, 4, (96,))
images = 0.5 * torch.randn(96, 3, 8, 8)
for image, label in zip(images, labels.tolist(), strict=True):
    row, column = 4 * (label // 2), 4 * (label % 2)
    image[:, row : row + 4, column : column + 4] += 1.0
train_set, test_set = random_split(TensorDataset(images, labels), [72, 24])
trainloader = DataLoader(train_set, batch_size=12, shuffle=True)
testloader = DataLoader(test_set, batch_size=12)
net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)

for epoch in range(6):
    net.train()
    running_loss = 0.0
    for data in trainloader:
        inputs, targets = data
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    scheduler.step()

net.eval()
correct = sum((net.predict(x).indices == y).sum().item() for x, y in testloader)
print(f"loss {running_loss / len(trainloader):.3f}, accuracy {correct / 24:.2f}")
