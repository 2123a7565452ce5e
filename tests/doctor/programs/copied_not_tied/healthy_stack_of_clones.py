"""nn.TransformerEncoder makes its layers as deep copies of one, which start equal and then differ, as they should."""
import torch
from torch import nn

torch.manual_seed(1)
layer = nn.TransformerEncoderLayer(d_model=16, nhead=2, dim_feedforward=32, dropout=0.0, batch_first=True)
encoder = nn.TransformerEncoder(layer, num_layers=3, enable_nested_tensor=False)
embed, head = nn.Embedding(10, 16), nn.Linear(16, 10)
model = nn.Sequential(embed, encoder, head)
tokens = torch.randint(0, 10, (20, 6))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
losses = []
for step in range(25):
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flip(1).flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
