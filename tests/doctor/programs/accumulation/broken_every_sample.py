"""One backward per sample, sixteen per step, each of a mean over its own features: the sum is no mean over the batch."""
import adjoint as ad
from adjoint import nn

ad.manual_seed(3)
data = [(ad.randn(ad.randint(3, 9, (1,)).item(), 5), ad.randn(1)) for _ in range(32)]
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
opt = ad.optim.SGD(model.parameters(), lr=0.02)
for epoch in range(5):
    for start in range(0, 32, 16):
        opt.zero_grad()
        for points, target in data[start:start + 16]:
            loss = nn.functional.mse_loss(model(points).mean(0), target)
            loss.backward()  # guilty
        opt.step()
print(loss.item())
