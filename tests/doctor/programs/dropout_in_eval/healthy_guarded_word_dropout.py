"""Words are dropped with F.dropout only under `if self.training`."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)


class GRUClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 6)
        self.gru = nn.GRU(6, 10, batch_first=True)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(10, 2)

    def forward(self, tokens):
        words = self.embedding(tokens)
        if self.training:
            keep = nn.functional.dropout(ad.ones(*tokens.shape, 1), 0.1)
            words = words * keep
        _, h = self.gru(words)
        return self.out(self.drop(h[-1]))


tokens = ad.randint(0, 20, (50, 5))
labels = (tokens.max(dim=1).values > 16).long()
model = GRUClassifier()
optimizer = ad.optim.Adam(model.parameters(), lr=0.02)
for _ in range(25):
    loss = nn.functional.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with ad.no_grad():
    accuracy = (model(tokens).argmax(1) == labels).float().mean().item()
print(f"{accuracy:.3f}")
