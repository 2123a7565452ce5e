# transfer to a new set of classes: only the new head is trained
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)


class ConvNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
        self.classifier = nn.Linear(8 * 4, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.classifier(x.flatten(1))


def make_data(n, n_classes):
    protos = torch.randn(n_classes, 1, 8, 8)
    y = torch.randint(0, n_classes, (n,))
    return protos[y] + 0.5 * torch.randn(n, 1, 8, 8), y


def fit(model, optimizer, x, y, steps):
    for _ in range(steps):
        idx = torch.randint(0, len(x), (32,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
    return loss.item()


x_a, y_a = make_data(256, 10)
x_b, y_b = make_data(256, 5)
x_val, y_val = x_b[192:], y_b[192:]

model = ConvNet(n_classes=10)
loss_a = fit(model, torch.optim.Adam(model.parameters(), lr=5e-3), x_a, y_a, steps=60)

for p in model.parameters():
    p.requires_grad = False
model.classifier = nn.Linear(model.classifier.in_features, 5)
optimizer = torch.optim.Adam(model.classifier.parameters(), lr=1e-2)
loss_b = fit(model, optimizer, x_b[:192], y_b[:192], steps=60)
model.eval()
with torch.no_grad():
    acc = (model(x_val).argmax(dim=1) == y_val).float().mean().item()
print("source loss %.3f new loss %.3f val acc %.3f" % (loss_a, loss_b, acc))
