"""The gradient lies above the limit of the clip for much of the training, as with many transformers, and the loss falls."""
import torch
from torch import nn

torch.manual_seed(1)
tokens = torch.randint(0, 20, (16, 7))
embed = nn.Embedding(20, 16)
layer = nn.TransformerEncoderLayer(16, 2, dim_feedforward=32, dropout=0.0, batch_first=True, norm_first=True)
head = nn.Linear(16, 20)
params = [p for module in (embed, layer, head) for p in module.parameters()]
opt = torch.optim.AdamW(params, lr=3e-3, weight_decay=0.01)
losses = []
for step in range(110):
    logits = head(layer(embed(tokens)))
    loss = nn.functional.cross_entropy(logits.reshape(-1, 20), tokens.reshape(-1))
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, 0.1)
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
