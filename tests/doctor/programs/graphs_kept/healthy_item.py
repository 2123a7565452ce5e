"""The running loss is a number."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(256, 10)
y = x[:, :3].argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
criterion = nn.CrossEntropyLoss()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)

averages = []
for epoch in range(6):
    running_loss = 0.0
    for inputs, labels in loader:
        opt.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        opt.step()
        running_loss += loss.item()
    averages.append(running_loss / len(loader))
print(averages[0], averages[-1])
