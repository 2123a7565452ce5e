"""A ReLU at the end of a regression whose targets are negative: where the output is zero it stays zero."""
import adjoint as ad
from adjoint import nn

ad.manual_seed(4)
x = ad.randn(64, 6)
y = -5.0 - x.abs().sum(1, keepdim=True)

model = nn.Sequential(
    nn.Linear(6, 32),
    nn.Tanh(),
    nn.Linear(32, 1),
    nn.ReLU(),  # guilty
)
with ad.no_grad():
    model[2].bias.fill_(-3.0)
opt = ad.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(40):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
