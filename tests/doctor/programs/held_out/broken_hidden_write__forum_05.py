# embedding network with features on the unit sphere
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)


class SphereNet(nn.Module):
    def __init__(self, d_in=12, d_hidden=32, d_emb=8, n_classes=4):
        super().__init__()
        self.fc1 = nn.Linear(d_in, d_hidden)
        self.fc2 = nn.Linear(d_hidden, d_emb)
        self.head = nn.Linear(d_emb, n_classes)

    def embed(self, x):
        h = F.relu(self.fc1(x))
        e = torch.tanh(self.fc2(h))
        e.data /= e.data.norm(dim=1, keepdim=True)  # guilty
        return e

    def forward(self, x):
        return self.head(self.embed(x))


def run_epoch(model, loader, optimizer):
    model.train()
    total, hits = 0.0, 0
    for x, y in loader:
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
        hits += (logits.argmax(1) == y).sum().item()
    return total / len(loader.dataset), hits / len(loader.dataset)


teacher = torch.randn(12, 4)
x = torch.randn(320, 12)
y = (x @ teacher).argmax(dim=1)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = SphereNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(10):
    loss, acc = run_epoch(model, loader, optimizer)
print("loss %.3f acc %.3f" % (loss, acc))
