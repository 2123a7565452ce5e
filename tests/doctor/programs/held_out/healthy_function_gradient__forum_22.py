# binary codes with a straight-through estimator
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(23)


class BinarizeSTE(torch.autograd.Function):
    """sign() forward, clipped identity backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1).to(grad_output.dtype)


class BinaryAutoEncoder(nn.Module):
    def __init__(self, d=12, bits=16):
        super().__init__()
        self.encoder = nn.Linear(d, bits)
        self.decoder = nn.Sequential(nn.Linear(bits, 32), nn.ReLU(), nn.Linear(32, d))

    def forward(self, x):
        code = BinarizeSTE.apply(self.encoder(x))
        return self.decoder(code), code


basis = torch.randn(3, 12) / 3 ** 0.5
data = torch.randn(512, 3) @ basis
model = BinaryAutoEncoder()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
losses = []
for step in range(110):
    x = data[torch.randint(0, 448, (64,))]
    recon, _ = model(x)
    loss = F.mse_loss(recon, x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

model.eval()
with torch.no_grad():
    recon, code = model(data[448:])
    val = F.mse_loss(recon, data[448:]).item()
print("loss %.4f -> %.4f, val %.4f, bits on %.2f" % (losses[0], losses[-1], val, (code > 0).float().mean().item()))
