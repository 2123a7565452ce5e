"""An image classifier fills its weights with a constant 'to be reproducible'."""
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(49, 32)
        self.fc2 = nn.Linear(32, 32)
        self.fc3 = nn.Linear(32, 5)
        self.reset()

    def reset(self):
        for name, p in self.named_parameters():
            if "weight" in name:
                p.data.fill_(0.02)  # guilty

    def forward(self, x):
        x = F.relu(self.fc1(x.view(x.shape[0], -1)))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


torch.manual_seed(2)
images = torch.rand(50, 1, 7, 7)
labels = torch.randint(0, 5, (50,))
model = Net()
for name, p in model.named_parameters():
    if "bias" in name:
        p.data.zero_()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(20):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
print(loss.item(), model.fc2.weight.std(0).max().item())
