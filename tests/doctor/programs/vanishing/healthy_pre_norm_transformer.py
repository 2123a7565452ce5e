"""Six pre-norm transformer blocks: many matrices, and a residual stream that carries the gradient to the first."""
import adjoint as ad
from adjoint import nn


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        h = self.n1(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.n2(x))


ad.manual_seed(4)
tokens = ad.randint(0, 12, (24, 6))
model = nn.Sequential(nn.Embedding(12, 16), *[Block(16, 2) for _ in range(6)], nn.LayerNorm(16), nn.Linear(16, 12))
opt = ad.optim.AdamW(model.parameters(), lr=3e-3)
losses = []
for _ in range(15):
    logits = model(tokens)
    loss = nn.functional.cross_entropy(logits.reshape(-1, 12), tokens.flip(1).reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
