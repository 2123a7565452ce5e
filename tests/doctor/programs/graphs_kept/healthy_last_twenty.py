"""A deque keeps the losses of the last twenty steps and drops the older ones with their graphs."""
from collections import deque

import adjoint as ad
from adjoint import nn

ad.manual_seed(4)
x = ad.randn(60, 5)
y = (x.sum(1) > 0).float()
model = nn.Sequential(nn.Linear(5, 10), nn.ReLU(), nn.Linear(10, 1))
opt = ad.optim.SGD(model.parameters(), lr=0.3)
window = deque(maxlen=20)
first = None
for _ in range(120):
    loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    window.append(loss)
    first = first or loss.item()
print(first, sum(loss.item() for loss in window) / len(window))
