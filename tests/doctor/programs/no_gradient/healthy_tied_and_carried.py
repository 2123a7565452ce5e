"""The output layer is tied to the embedding and the carried state is detached between chunks; every parameter is reached."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class LanguageModel(nn.Module):
    def __init__(self, vocabulary=12, width=10):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.rnn = nn.LSTM(width, width, batch_first=True)
        self.decoder = nn.Linear(width, vocabulary)
        self.decoder.weight = self.embedding.weight

    def forward(self, tokens, state=None):
        out, state = self.rnn(self.embedding(tokens), state)
        return self.decoder(out), state


torch.manual_seed(0)
stream = torch.arange(400).remainder(12).view(4, 100)
model = LanguageModel()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
state = None
for start in range(0, 96, 6):
    inputs, targets = stream[:, start : start + 6], stream[:, start + 1 : start + 7]
    if state is not None:
        state = [s.detach() for s in state]
    logits, state = model(inputs, state)
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
