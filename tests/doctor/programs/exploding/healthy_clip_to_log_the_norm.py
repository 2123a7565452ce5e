"""The limit is infinite: the clip is called for the norm that it returns."""
import adjoint as ad
from adjoint import nn

ad.manual_seed(3)
x = ad.randn(64, 4) * 20
y = (x ** 2).sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 1))
opt = ad.optim.Adam(model.parameters(), lr=5e-2)
norms, losses = [], []
for _ in range(120):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    norms.append(nn.utils.clip_grad_norm_(model.parameters(), float("inf")).item())
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1], max(norms))
