"""A softmax over a single output is always one, so that nothing has a gradient."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
x = torch.randn(160, 10)
y = (x.sum(1, keepdim=True) > 0).float()
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)


class BinaryClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(10, 20)
        self.output = nn.Linear(20, 1)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        x = torch.relu(self.hidden(x))
        return self.softmax(self.output(x))  # guilty


model = BinaryClassifier()
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(5):
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
print(loss.item())
