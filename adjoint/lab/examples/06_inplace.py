"""An in-place error

z needs y as it was. y is overwritten, and backward notices instead of giving a wrong gradient.
"""

import adjoint as ad

x = ad.tensor(2.0, requires_grad=True)
y = ad.exp(x)
z = y * x
y += 1
z.backward()
