"""The output layer has the embedding's own parameter."""
import torch
from torch import nn


class LanguageModel(nn.Module):
    def __init__(self, vocab=24, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, tokens):
        h, _ = self.rnn(self.embed(tokens))
        return self.out(h)


torch.manual_seed(0)
tokens = torch.randint(0, 24, (16, 8))
model = LanguageModel()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for epoch in range(25):
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, 24), tokens[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
