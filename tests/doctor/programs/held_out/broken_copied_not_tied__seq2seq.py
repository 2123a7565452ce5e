"""The three embeddings of a translation model are to be one, but two of them are copies that drift apart."""
import torch
import torch.nn.functional as F
from torch import nn


class Translator(nn.Module):
    def __init__(self, vocab=20, dim=16, share=True):
        super().__init__()
        self.source = nn.Embedding(vocab, dim)
        self.target = nn.Embedding(vocab, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.generator = nn.Linear(dim, vocab, bias=False)
        self.reset_parameters()
        if share:
            self.share_embeddings()

    def reset_parameters(self):
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def share_embeddings(self):
        self.target.weight.data.copy_(self.source.weight.data)  # guilty
        self.generator.weight.data = self.target.weight.data.clone()  # guilty

    def forward(self, source, target):
        _, state = self.encoder(self.source(source))
        out, _ = self.decoder(self.target(target), state)
        return self.generator(out)


def reversed_pairs(n, length=5, vocab=20):
    source = torch.randint(1, vocab, (n, length))
    target = torch.cat([torch.zeros(n, 1, dtype=torch.long), source.flip(1)], dim=1)
    return source, target


def count(model):
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


torch.manual_seed(17)
model = Translator()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.98), eps=1e-9)
curve = []
for step in range(35):
    source, target = reversed_pairs(32)
    logits = model(source, target[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, 20), target[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    curve.append(loss.item())
print(curve[0], curve[-1], count(model))
