"""The last hidden states of both directions are used, so that both recurrences learn."""
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, vocab=30, dim=12, hidden=16, classes=3):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, classes)

    def forward(self, tokens):
        _, (h, _) = self.lstm(self.embedding(tokens))
        return self.fc(torch.cat([h[-2], h[-1]], dim=1))


torch.manual_seed(2)
tokens = torch.randint(0, 30, (48, 9))
labels = tokens[:, 0] % 3
model = Classifier()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
first = None
for epoch in range(20):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(tokens), labels)
    loss.backward()
    opt.step()
    first = first or loss.item()
print(first, loss.item())
