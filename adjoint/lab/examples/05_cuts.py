"""Cuts

detach() gives the value without its history, and no_grad() records nothing: neither lets a gradient through.
"""

import adjoint as ad

x = ad.tensor(3.0, requires_grad=True)
y = x ** 2
d = y.detach()
with ad.no_grad():
    w = 10 * x
z = y * d + w
z.backward()
print(x.grad)
