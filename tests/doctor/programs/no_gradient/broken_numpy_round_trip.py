"""The features go through NumPy and back, which cuts the convolution off from the loss."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3, padding=1)
        self.fc = nn.Linear(6 * 4 * 4, 2)

    def normalize(self, features):
        array = features.detach().numpy()  # guilty
        array = (array - array.mean()) / (array.std() + 1e-5)
        return torch.from_numpy(array)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        return self.fc(self.normalize(x).flatten(1))


torch.manual_seed(0)
images = torch.randn(48, 1, 8, 8)
labels = (images[:, 0, :4].mean(dim=(1, 2)) > 0).long()
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(20):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
