"""Second derivatives

With create_graph the backward pass is recorded too, so that it can be differentiated in turn.
"""

import adjoint as ad

x = ad.tensor(2.0, requires_grad=True)
y = x ** 3
(dy,) = ad.autograd.grad(y, x, create_graph=True)
(ddy,) = ad.autograd.grad(dy, x)
print(dy.item(), ddy.item())
