"""The output layer is meant to share the embedding's weight but gets a copy of it."""
import torch
from torch import nn


class LanguageModel(nn.Module):
    def __init__(self, vocab=24, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab, bias=False)
        self.out.weight = nn.Parameter(self.embed.weight.clone())  # guilty

    def forward(self, tokens):
        h, _ = self.rnn(self.embed(tokens))
        return self.out(h)


torch.manual_seed(0)
tokens = torch.randint(0, 24, (16, 8))
model = LanguageModel()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(20):
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, 24), tokens[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), torch.equal(model.embed.weight, model.out.weight))
