"""The model returns log_softmax and the loss is nll_loss, which together are one cross entropy."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3)
        self.fc1 = nn.Linear(4 * 3 * 3, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        return F.log_softmax(self.fc1(torch.flatten(x, 1)), dim=1)


torch.manual_seed(0)
data = torch.randn(60, 1, 8, 8)
target = data.view(60, 2, 32).mean(2).argmax(1)
model = Net()
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
for batch_idx in range(40):
    optimizer.zero_grad()
    output = model(data)
    loss = F.nll_loss(output, target)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
