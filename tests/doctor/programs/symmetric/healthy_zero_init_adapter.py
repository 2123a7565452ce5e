"""An adapter's up-projection and the conditioning of a FiLM layer start at zero, between random layers."""
import adjoint as ad
from adjoint import nn


class FiLM(nn.Module):
    def __init__(self, cond, dim):
        super().__init__()
        self.to_scale_shift = nn.Linear(cond, 2 * dim)
        nn.init.zeros_(self.to_scale_shift.weight)
        nn.init.zeros_(self.to_scale_shift.bias)

    def forward(self, h, c):
        scale, shift = self.to_scale_shift(c).chunk(2, dim=-1)
        return h * (1 + scale) + shift


ad.manual_seed(3)
x, c = ad.randn(64, 6), ad.randn(64, 3)
y = x[:, :1] * c[:, :1]
first_layer, film, last = nn.Linear(6, 24), FiLM(3, 24), nn.Linear(24, 1)
opt = ad.optim.Adam([*first_layer.parameters(), *film.parameters(), *last.parameters()], lr=1e-2)
losses = []
for _ in range(80):
    pred = last(ad.tanh(film(first_layer(x), c)))
    loss = nn.functional.mse_loss(pred, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
