"""A Poisson regression on features that were not scaled takes the exponential of hundreds."""
import adjoint as ad
from adjoint import nn

ad.manual_seed(4)
age = ad.rand(100, 1) * 60 + 18
income = ad.rand(100, 1) * 4000
x = ad.cat([age, income], dim=1)
counts = ad.poisson(ad.ones(100) * 3)

model = nn.Linear(2, 1)
with ad.no_grad():
    model.weight.copy_(ad.tensor([[0.05, 0.1]]))
opt = ad.optim.SGD(model.parameters(), lr=1e-3)

for _ in range(20):
    mu = ad.exp(model(x).squeeze(1))  # guilty
    loss = (mu - counts * ad.log(mu)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
