"""A weighted sampler draws rare samples many times, so that two workers may well return the same one."""
import adjoint as ad
from adjoint import nn
from adjoint.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

ad.manual_seed(3)
x = ad.randn(60, 5)
y = (x[:, 0] > 1.2).long()
weights = ad.where(y == 1, 1.0 / y.sum(), 1.0 / (1 - y).sum())
sampler = WeightedRandomSampler(weights.tolist(), num_samples=160, replacement=True)
loader = DataLoader(TensorDataset(x, y), batch_size=16, sampler=sampler, num_workers=2)
model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 2))
opt = ad.optim.Adam(model.parameters(), lr=2e-2)
losses = []
for xb, yb in loader:
    loss = nn.functional.cross_entropy(model(xb), yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
