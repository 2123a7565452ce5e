"""Rows of an embedding whose words are not in the batch have no gradient, as they should."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
tokens = torch.randint(0, 25, (96, 6))
labels = (tokens < 12).sum(1).gt(2).long()
loader = DataLoader(TensorDataset(tokens, labels), batch_size=16, shuffle=True)


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(1000, 16, padding_idx=0)
        self.head = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, tokens):
        return self.head(self.table(tokens).mean(1))


model = Bag()
opt = torch.optim.Adagrad(model.parameters(), lr=0.1)
curve = []
for epoch in range(10):
    total = 0.0
    for tb, yb in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(tb), yb)
        loss.backward()
        opt.step()
        total += loss.item()
    curve.append(total / len(loader))
print(curve[0], curve[-1])
