"""A new nn.Dropout is made in each forward pass, and a new module is in training mode."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)


class GRUClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 6)
        self.gru = nn.GRU(6, 10, batch_first=True)
        self.out = nn.Linear(10, 2)

    def forward(self, tokens):
        _, h = self.gru(self.embedding(tokens))
        h = nn.Dropout(0.4)(h[-1])  # guilty
        return self.out(h)


tokens = ad.randint(0, 20, (50, 5))
labels = (tokens.max(dim=1).values > 16).long()
model = GRUClassifier()
optimizer = ad.optim.Adam(model.parameters(), lr=0.02)
for _ in range(20):
    loss = nn.functional.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with ad.no_grad():
    accuracy = (model(tokens).argmax(1) == labels).float().mean().item()
print(f"{accuracy:.3f}")
