"""While fine-tuning, only the batch-norm layers are set to eval mode, by hand after every train()."""

import torch
import torch.nn as nn


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3, padding=1)
        self.bn = nn.BatchNorm2d(6)
        self.fc = nn.Linear(24, 2)

    def forward(self, x):
        x = nn.functional.adaptive_avg_pool2d(torch.relu(self.bn(self.conv(x))), 2)
        return self.fc(x.flatten(1))


torch.manual_seed(0)
model = CNN()
images = torch.randn(40, 1, 8, 8)
labels = (images[:, 0, :, :4].mean((1, 2)) > 0).long()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(40):
    model.train()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eval()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
