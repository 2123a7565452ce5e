# Monte Carlo dropout: predictive mean and spread from repeated passes
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(13)


class BayesianMLP(nn.Module):
    def __init__(self, d_in=16, hidden=48, p=0.2):
        super().__init__()
        self.p = p
        self.fc1 = nn.Linear(d_in, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, 1)

    def forward(self, x):
        x = F.gelu(self.fc1(x))
        x = F.dropout(x, p=self.p, training=True)  # always on: MC dropout
        x = F.gelu(self.fc2(x))
        return self.fc3(x).squeeze(-1)


def mc_predict(model, x, passes=20):
    model.eval()
    with torch.no_grad():
        probs = torch.stack([torch.sigmoid(model(x)) for _ in range(passes)])
    return probs.mean(dim=0), probs.std(dim=0)


x = torch.randn(400, 16)
y = ((x[:, :4].sum(dim=1) + 0.3 * torch.randn(400)) > 0).float()
loader = DataLoader(TensorDataset(x[:320], y[:320]), batch_size=32, shuffle=True)
model = BayesianMLP()
optimizer = torch.optim.NAdam(model.parameters(), lr=2e-3)

for epoch in range(8):
    model.train()
    for xb, yb in loader:
        loss = F.binary_cross_entropy_with_logits(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

mean, spread = mc_predict(model, x[320:])
acc = ((mean > 0.5) == (y[320:] > 0.5)).float().mean().item()
print("last loss %.3f acc %.3f mean spread %.3f" % (loss.item(), acc, spread.mean().item()))
