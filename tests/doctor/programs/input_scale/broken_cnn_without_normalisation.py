"""A small CNN gets images of bytes turned into floats without dividing by 255."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3)
        self.conv2 = nn.Conv2d(6, 8, 3)
        self.fc = nn.Linear(8 * 16, 3)
        nn.init.normal_(self.fc.weight, std=1e-4)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.fc(x.flatten(1))


torch.manual_seed(1)
raw = torch.randint(0, 256, (96, 1, 8, 8), dtype=torch.uint8)
labels = torch.randint(0, 3, (96,))
loader = DataLoader(TensorDataset(raw, labels), batch_size=24, shuffle=True)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
losses = []
for epoch in range(8):
    for images, targets in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images.float()), targets)  # guilty
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(losses[0], losses[-1])
