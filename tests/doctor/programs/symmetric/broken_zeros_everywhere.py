"""All weights are zero, so that after the first steps all hidden units are copies of one."""
import adjoint as ad
from adjoint import nn

ad.manual_seed(3)
x = ad.randn(90, 5)
y = (x[:, 0] * x[:, 1]).sign().add(1).long().clamp(max=1)
model = nn.Sequential(nn.Linear(5, 20), nn.Sigmoid(), nn.Linear(20, 2))
for p in model.parameters():
    nn.init.zeros_(p)  # guilty
opt = ad.optim.SGD(model.parameters(), lr=0.5)
for _ in range(50):
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), model[0].weight.std(0).max().item())
