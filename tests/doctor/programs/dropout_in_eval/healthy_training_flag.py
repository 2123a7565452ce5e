"""F.dropout is given the mode of the module."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(10, 40)
        self.fc2 = nn.Linear(40, 3)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.dropout(x, 0.5, self.training)
        return self.fc2(x)


torch.manual_seed(0)
X = torch.randn(150, 10)
Y = X[:, :3].argmax(1)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(30):
    net.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(net(X[:100]), Y[:100])
    loss.backward()
    optimizer.step()

net.eval()
with torch.no_grad():
    accuracy = (net(X[100:]).argmax(1) == Y[100:]).float().mean()
print(f"accuracy {accuracy.item():.2f}")
