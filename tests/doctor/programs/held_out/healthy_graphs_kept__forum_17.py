# language model unrolled by hand: the losses of the time steps are kept until backward
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)
VOCAB, LENGTH = 8, 10


class CharRNN(nn.Module):
    def __init__(self, d=12, hidden=24):
        super().__init__()
        self.hidden = hidden
        self.emb = nn.Embedding(VOCAB, d)
        self.cell = nn.GRUCell(d, hidden)
        self.out = nn.Linear(hidden, VOCAB)

    def step(self, token, h):
        h = self.cell(self.emb(token), h)
        return self.out(h), h


def make_batch(n):
    start = torch.randint(0, VOCAB, (n, 1))
    stride = torch.randint(1, 3, (n, 1))
    return (start + stride * torch.arange(LENGTH)) % VOCAB


def sequence_loss(model, seq):
    h = torch.zeros(seq.size(0), model.hidden)
    losses = []
    for t in range(LENGTH - 1):
        logits, h = model.step(seq[:, t], h)
        losses.append(F.cross_entropy(logits, seq[:, t + 1]))
    return torch.stack(losses).mean()


model = CharRNN()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
history = []
for it in range(60):
    loss = sequence_loss(model, make_batch(32))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.detach())

model.eval()
with torch.no_grad():
    val = sequence_loss(model, make_batch(128)).item()
print("mean loss", torch.stack(history).mean().item(), "last", history[-1].item(), "val", val)
