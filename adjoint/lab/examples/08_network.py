"""A training step

Two layers, one step of gradient descent: forward, backward, step, and the gradients are cleared.
"""

import adjoint as ad
from adjoint import nn

ad.manual_seed(2)
hidden = nn.Linear(2, 2)
output = nn.Linear(2, 1)
parameters = [*hidden.parameters(), *output.parameters()]
optimizer = ad.optim.SGD(parameters, lr=0.1)

x = ad.tensor([[1.0, -1.0]])
t = ad.tensor([[1.0]])
h = ad.tanh(hidden(x))
out = output(h)
loss = nn.functional.mse_loss(out, t)
loss.backward()
optimizer.step()
optimizer.zero_grad()
