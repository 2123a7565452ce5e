"""A character model adds up the gradients of four micro-batches without dividing the mean losses by four."""
import contextlib

import torch
import torch.nn.functional as F
from torch import nn

TEXT = "the quick brown fox jumps over the lazy dog and runs away from the big bad wolf " * 4
CHARS = sorted(set(TEXT))
ENCODE = {c: i for i, c in enumerate(CHARS)}


class CharModel(nn.Module):
    def __init__(self, vocab, dim=16, block=8):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim), nn.Embedding(block, dim)
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 32), nn.GELU(), nn.Linear(32, dim))
        self.head = nn.Linear(dim, vocab)
        self.register_buffer("mask", torch.triu(torch.ones(block, block, dtype=torch.bool), 1))

    def forward(self, idx, targets):
        x = self.tok(idx) + self.pos.weight
        h = self.ln1(x)
        x = x + self.attn(h, h, h, attn_mask=self.mask, need_weights=False)[0]
        x = x + self.mlp(self.ln2(x))
        logits = self.head(x)
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def get_batch(data, size, block=8):
    starts = torch.randint(0, len(data) - block - 1, (size,)).tolist()
    x = torch.stack([data[i:i + block] for i in starts])
    y = torch.stack([data[i + 1:i + block + 1] for i in starts])
    return x, y


torch.manual_seed(15)
data = torch.tensor([ENCODE[c] for c in TEXT])
model = CharModel(len(CHARS))
decay = [p for p in model.parameters() if p.dim() >= 2]
no_decay = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.SGD([{"params": decay, "weight_decay": 1e-3}, {"params": no_decay, "weight_decay": 0.0}], lr=0.1)
grad_accum_steps = 4
context = contextlib.nullcontext()
losses = []
for it in range(25):
    optimizer.zero_grad(set_to_none=True)
    for micro in range(grad_accum_steps):
        x, y = get_batch(data, 8)
        with context:
            _, loss = model(x, y)
        loss.backward()  # guilty
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
