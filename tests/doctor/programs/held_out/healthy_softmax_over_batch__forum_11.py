# attention pooling over tokens, x: [tokens, batch, features]
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)
T = 7


class AttentionPool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(d, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, h):
        weights = F.softmax(self.score(h), dim=0)
        return (weights * h).sum(dim=0)


class SeqClassifier(nn.Module):
    def __init__(self, d_in=6, d=16, n_classes=2):
        super().__init__()
        self.proj = nn.Linear(d_in, d)
        self.pool = AttentionPool(d)
        self.out = nn.Linear(d, n_classes)

    def forward(self, x):
        return self.out(self.pool(torch.relu(self.proj(x))))


def make_batch(n):
    # the token with a large first feature carries the label in the second one
    x = torch.randn(T, n, 6)
    x[:, :, 0] = 0.2 * x[:, :, 0]
    where = torch.randint(0, T, (n,))
    x[where, torch.arange(n), 0] += 3.0
    y = (x[where, torch.arange(n), 1] > 0).long()
    return x, y


model = SeqClassifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
losses = []
for step in range(110):
    x, y = make_batch(48)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

model.eval()
with torch.no_grad():
    x_val, y_val = make_batch(200)
    acc = (model(x_val).argmax(1) == y_val).float().mean().item()
print(f"first {losses[0]:.4f} last {losses[-1]:.4f} val acc {acc:.3f}")
