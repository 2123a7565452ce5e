"""Clipping comes right after zero_grad(), where there is nothing to clip yet."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        mixed, _ = self.attention(x, x, x)
        return self.out(self.norm(x + mixed)).mean(1)


x = ad.randn(24, 5, 8)
y = x[:, 0, :1]
block = Block(8)
optimizer = ad.optim.AdamW(block.parameters(), lr=3e-3)
for _ in range(20):
    optimizer.zero_grad(set_to_none=False)
    nn.utils.clip_grad_norm_(block.parameters(), 1.0)  # guilty
    loss = nn.functional.mse_loss(block(x), y)
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
