"""The accumulated gradients are cleared in the branch just before the step instead of after it."""

import adjoint as ad
from adjoint import nn

ad.manual_seed(0)
x = ad.randn(120, 6)
w = ad.randn(6, 1)
y = x @ w
model = nn.Linear(6, 1)
optimizer = ad.optim.SGD(model.parameters(), lr=0.05)
every = 3

count = 0
for epoch in range(5):
    for start in range(0, 120, 10):
        rows = slice(start, start + 10)
        loss = ((model(x[rows]) - y[rows]) ** 2).mean() / every
        loss.backward()
        count += 1
        if count % every == 0:
            optimizer.zero_grad()  # guilty
            optimizer.step()
print("loss", loss.item() * every)
