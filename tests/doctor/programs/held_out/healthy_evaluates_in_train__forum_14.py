# small residual network
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv1 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(c)
        self.conv2 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(c)

    def forward(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        return F.relu(x + self.bn2(self.conv2(h)))


class TinyResNet(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.block = Block(8)
        self.fc = nn.Linear(8 * 9, n_classes)

    def forward(self, x):
        return self.fc(self.block(self.stem(x)).flatten(1))


protos = torch.randn(3, 1, 6, 6)
y = torch.randint(0, 3, (288,))
x = protos[y] + 0.8 * torch.randn(288, 1, 6, 6)
x_train, y_train, x_val, y_val = x[:224], y[:224], x[224:], y[224:]

model = TinyResNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for epoch in range(6):
    model.train()
    for idx in torch.randperm(224).split(32):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
    # validation
    model.eval()
    with torch.no_grad():
        val_out = model(x_val)
        val_loss = F.cross_entropy(val_out, y_val).item()
        val_acc = (val_out.argmax(1) == y_val).float().mean().item()
print(f"train loss {loss.item():.3f} val loss {val_loss:.3f} val acc {val_acc:.3f}")
