"""FGSM takes the gradient of the input without a graph and trains on the changed input."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
data, labels = torch.randn(120, 10), None
labels = (data[:, :5].sum(1) > 0).long()
loader = DataLoader(TensorDataset(data, labels), batch_size=40, shuffle=True)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.2)
criterion = nn.CrossEntropyLoss()
history = []
for epoch in range(10):
    for x, y in loader:
        x = x.clone().requires_grad_(True)
        clean = criterion(model(x), y)
        g = torch.autograd.grad(clean, x)[0]
        adversarial = (x + 0.1 * g.sign()).detach()
        loss = criterion(model(adversarial), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    history.append(loss.item())
print(history[0], history[-1])
