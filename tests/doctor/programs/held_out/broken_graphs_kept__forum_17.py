# one transformer block as a sequence classifier
import torch
import torch.nn as nn

torch.manual_seed(17)


class TinyTransformer(nn.Module):
    def __init__(self, vocab=20, d=16, length=8, n_classes=2):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Parameter(0.02 * torch.randn(length, d))
        self.attn = nn.MultiheadAttention(d, 2, batch_first=True)
        self.norm1 = nn.LayerNorm(d)
        self.norm2 = nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, 32), nn.GELU(), nn.Linear(32, d))
        self.head = nn.Linear(d, n_classes)

    def forward(self, ids):
        x = self.tok(ids) + self.pos
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        x = x + self.ff(self.norm2(x))
        return self.head(x.mean(dim=1))


def make_batch(n):
    ids = torch.randint(0, 20, (n, 8))
    return ids, ((ids < 10).sum(dim=1) > 4).long()


model = TinyTransformer()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
train_losses = []
for step in range(80):
    ids, y = make_batch(32)
    loss = criterion(model(ids), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    train_losses.append(loss)  # guilty

model.eval()
with torch.no_grad():
    ids, y = make_batch(200)
    acc = (model(ids).argmax(1) == y).float().mean().item()
print("mean loss", float(sum(train_losses) / len(train_losses)), "val acc", acc)
