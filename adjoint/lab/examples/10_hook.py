"""A hook

A hook sees a gradient on its way, and may replace it.
"""

import adjoint as ad


def halve(g):
    print("y gets", g.item())
    return g / 2


x = ad.tensor(2.0, requires_grad=True)
y = 3 * x
y.register_hook(halve)
z = y ** 2
z.backward()
print(x.grad)
