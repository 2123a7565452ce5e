"""The running loss is added up as a tensor, which keeps the graph of every step."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(256, 10)
y = torch.randint(0, 3, (256,))
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
criterion = nn.CrossEntropyLoss()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)

running_loss = 0
for epoch in range(5):
    for inputs, labels in loader:
        opt.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        opt.step()
        running_loss += loss  # guilty
print(running_loss.item() / (5 * len(loader)))
