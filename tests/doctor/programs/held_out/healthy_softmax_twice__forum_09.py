import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)
NUM_CLASSES = 6


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )
        self.classifier = nn.Sequential(
            nn.Linear(64, 32),
            nn.ReLU(),
            nn.Linear(32, NUM_CLASSES),
        )

    def forward(self, x):
        return self.classifier(self.features(x))


def make_images(n, protos):
    y = torch.randint(0, NUM_CLASSES, (n,))
    return protos[y] + 0.4 * torch.randn(n, 3, 8, 8), y


protos = torch.randn(NUM_CLASSES, 3, 8, 8)
x, y = make_images(256, protos)
x_val, y_val = make_images(96, protos)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)

model = CNN()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(10):
    running_loss = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()

model.eval()
with torch.no_grad():
    out = torch.softmax(model(x_val), dim=1)
    conf, pred = out.max(dim=1)
acc = (pred == y_val).float().mean().item()
print("loss %.3f val acc %.3f confidence %.3f" % (running_loss / len(loader), acc, conf.mean().item()))
