"""Adam moves every weight by about its rate, and a rate of one is many times the weights themselves."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(12, 48), nn.Linear(48, 48), nn.Linear(48, 3)

    def forward(self, x):
        return self.fc3(torch.tanh(self.fc2(torch.tanh(self.fc1(x)))))


torch.manual_seed(1)
x = torch.randn(240, 12)
y = x[:, :3].argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=24, shuffle=True)
model = Net()
opt = torch.optim.Adam(model.parameters(), lr=1.0)  # guilty
for epoch in range(5):
    for xb, yb in loader:
        opt.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        opt.step()
print(loss.item())
