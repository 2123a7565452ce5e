import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(13)


class MLP(nn.Module):
    def __init__(self, d_in=16, hidden=48, p=0.4):
        super().__init__()
        self.p = p
        self.fc1 = nn.Linear(d_in, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, 1)

    def forward(self, x):
        x = F.gelu(self.fc1(x))
        x = F.dropout(x, p=self.p)  # guilty
        x = F.gelu(self.fc2(x))
        return self.fc3(x).squeeze(-1)


def validate(model, x, y):
    model.eval()
    with torch.no_grad():
        logits = model(x)
        return F.binary_cross_entropy_with_logits(logits, y).item(), ((logits > 0) == (y > 0.5)).float().mean().item()


x = torch.randn(400, 16)
y = ((x[:, :4].sum(dim=1) + 0.3 * torch.randn(400)) > 0).float()
loader = DataLoader(TensorDataset(x[:320], y[:320]), batch_size=32, shuffle=True)
model = MLP()
optimizer = torch.optim.NAdam(model.parameters(), lr=2e-3)

best = 0.0
for epoch in range(8):
    model.train()
    for xb, yb in loader:
        loss = F.binary_cross_entropy_with_logits(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    val_loss, val_acc = validate(model, x[320:], y[320:])
    best = max(best, val_acc)
print("val loss %.3f best acc %.3f" % (val_loss, best))
